import Campanile
import CampanileKVO
import Observation
import Testing

/// Objects and properties that lead back to one another, or to one place in several ways.
@Suite("Cycles and diamonds", .ownThread)
struct CycleTests {
  let log = Log()

  /// Each is set with the other one.
  final class Thermometer: Observable {
    @Observed var celsius = 0 {
      didSet { if fahrenheit != celsius * 9 / 5 + 32 { fahrenheit = celsius * 9 / 5 + 32 } }
    }
    @Observed var fahrenheit = 32 {
      didSet { if celsius != (fahrenheit - 32) * 5 / 9 { celsius = (fahrenheit - 32) * 5 / 9 } }
    }
  }

  @Test("Two properties that set each other are told once each, by whichever one it begins")
  func settingEachOther() {
    let thermometer = Thermometer()
    log.follow(thermometer, \.celsius)
    log.follow(thermometer, \.fahrenheit)
    thermometer.celsius = 100
    #expect(log.lines.sorted() == ["100", "212"])
    log.lines = []
    thermometer.fahrenheit = 32
    #expect(log.lines.sorted() == ["0", "32"])
  }

  @Test("Observers that set the property of each other's come to an end")
  func observersSettingEachOther() {
    let (one, two) = (Radio(), Radio())
    log.kvo.observe(one, \.volume, options: .distinct) { log, _, change in
      log.lines.append("one \(change.new)")
      two.volume = change.new
    }
    log.kvo.observe(two, \.volume, options: .distinct) { log, _, change in
      log.lines.append("two \(change.new)")
      one.volume = change.new
    }
    one.volume = 3
    two.volume = 4
    #expect(log.lines == ["one 3", "two 3", "two 4", "one 4"])
  }

  @Test("A diamond of four levels fires once, from its tip and from its sides")
  func deepDiamond() {
    final class Diamond: Observable {
      @Observed var tip = 1
      @Observed var side = 0
      var left: Int { tip + side }
      var right: Int { tip * 10 }
      var lower: Int { left + right + left }
      var bottom: String { "\(lower) \(left) \(right) \(tip)" }
    }
    let diamond = Diamond()
    log.follow(diamond, \.bottom, [.old, .prior])
    diamond.tip = 2
    diamond.side = 1
    #expect(
      log.lines == [
        "12 1 10 1 -> 12 1 10 1", "12 1 10 1 -> 24 2 20 2",
        "24 2 20 2 -> 24 2 20 2", "24 2 20 2 -> 26 3 20 2",
      ])
  }

  @Test("An object that leads back to the observed one lets both be released")
  func backReferences() {
    let live = LiveCount()
    final class Child: Observable {
      weak var parent: Parent?
      @Observed var value = 0
      let mark: Tracked
      init(_ mark: Tracked) { self.mark = mark }
      var sum: Int { value + (parent?.value ?? 0) }
    }
    final class Parent: Observable {
      @Observed var value = 0
      @Observed var child: Child?
      let mark: Tracked
      init(_ mark: Tracked) { self.mark = mark }
    }
    do {
      let parent = Parent(Tracked(live))
      parent.child = Child(Tracked(live))
      parent.child?.parent = parent
      log.follow(parent, \.child?.sum)
      parent.value = 1
      parent.child?.value = 2
      withExtendedLifetime(parent) {}
    }
    #expect(log.lines == ["Optional(1)", "Optional(3)"])
    #expect(live.current == 0)
    #expect(log.kvo.observationCount == 0)
  }

  @Test(
    "A getter that observes something else disturbs nothing, and what that reads is not followed")
  func observingGetter() {
    let (other, third) = (Radio(), Radio())
    final class Lazy: Observable {
      @Observed var before = 1
      @Observed var after = 2
      var observe: () -> Void = {}
      var sum: Int {
        let before = before
        observe()
        return before + after
      }
    }
    let lazy = Lazy()
    var displays: [String] = []
    var tokens: [ObservationToken] = []
    lazy.observe = {
      tokens.append(
        other.observe(\.display, options: .initial) { _, change in
          _ = third.volume
          displays.append(change.new)
        })
    }
    log.follow(lazy, \.sum)
    lazy.observe = {}
    #expect(displays == [" 0"])
    third.volume = 1
    other.volume = 2
    #expect(displays == [" 0", " 2"])
    #expect(log.lines.isEmpty)
    lazy.after = 3
    lazy.before = 2
    #expect(log.lines == ["4", "5"])
    withExtendedLifetime(tokens) {}
  }

  @Test("A getter that unobserves, also its own path, leaves everything in order")
  func unobservingGetter() {
    final class Fickle: Observable {
      @Observed var value = 0
      var meanwhile: () -> Void = {}
      var double: Int {
        let value = value
        meanwhile()
        return value * 2
      }
    }
    let fickle = Fickle()
    let log = log
    log.follow(fickle, \.double, .old)
    fickle.value = 1
    fickle.meanwhile = { log.kvo.unobserve(fickle, \.double) }
    fickle.value = 2
    fickle.meanwhile = {}
    fickle.value = 3
    #expect(log.lines == ["0 -> 2"])
    log.follow(fickle, \.double)
    fickle.value = 4
    #expect(log.lines.last == "8")
  }

  @Test("What is collected from the elements of a list follows who comes and forgets who goes")
  func ofAllElements() {
    final class List: Observable {
      @Observed var radios: [Radio] = []
      var names: [String] { radios.map(\.station) }
    }
    func radio(_ station: String) -> Radio {
      let radio = Radio()
      radio.station = station
      return radio
    }
    let (a, b, c) = (radio("a"), radio("b"), radio("c"))
    let list = List()
    list.radios = [a]
    log.kvo.observe(list, \.names, options: .old) { log, _, change in
      #expect(change.edit == .setting && change.indexes == nil)
      log.lines.append("\(change.old?.joined() ?? "-") -> \(change.new.joined())")
    }
    let radios = list.mutableArray(\.radios)
    radios.insert(b, at: 0)
    b.station = "B"
    radios[1] = c
    a.station = "unheard"
    c.station = "C"
    radios.remove(at: 0)
    b.station = "unheard"
    #expect(log.lines == ["a -> ba", "ba -> Ba", "Ba -> Bc", "Bc -> BC", "BC -> C"])
  }
}
