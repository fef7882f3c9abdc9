import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Computed properties", .ownThread)
struct ComputedTests {
  let log = Log()
  let player = Player()

  private func follow<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options = []
  ) {
    log.kvo.observe(object, keyPath, options: options) { log, _, change in
      let old = change.old.map { "\($0) -> " } ?? ""
      log.lines.append("\(old)\(change.new)")
    }
  }

  @Test("A change of any property it is made of is told once, without declaring them, and no other")
  func dependencies() {
    follow(player, \.longLine, .old)
    player.title = "Aria"
    player.level = 3
    player.artist = "Bach"
    #expect(log.lines == [":  () -> : Aria (Aria)", ": Aria (Aria) -> Bach: Aria (Aria)"])
  }

  @Test("What it reads may differ from change to change")
  func dynamicDependencies() {
    final class Choice: Observable {
      @Observed var usesFirst = true
      @Observed var first = 1
      @Observed var second = 2
      var chosen: Int { usesFirst ? first : second }
    }
    let choice = Choice()
    follow(choice, \.chosen)
    choice.second = 20
    #expect(log.lines.isEmpty)
    choice.usesFirst = false
    choice.first = 10
    #expect(log.lines == ["20"])
    choice.second = 30
    #expect(log.lines == ["20", "30"])
  }

  @Test("Many properties that were read twice are followed no more when they are not read")
  func manyDependenciesLeft() {
    final class Sum: Observable {
      let radios = (0..<40).map { _ in Radio() }
      @Observed var isOn = true
      var total: Int { isOn ? sum + sum : 0 }
      private var sum: Int { radios.reduce(0) { $0 + $1.volume } }
    }
    let sum = Sum()
    follow(sum, \.total)
    sum.isOn = false
    for radio in sum.radios { radio.volume = 1 }
    #expect(log.lines == ["0"])
    sum.isOn = true
    #expect(log.lines == ["0", "80"])
    withExtendedLifetime(sum) {}
  }

  @Test("A setter that changes two properties inside one announced change fires once")
  func nestedChanges() {
    final class Point: Observable {
      private let registrar = KVORegistrar()
      @Observed var x = 0
      @Observed var y = 0
      var both: [Int] {
        get {
          registrar.access(self, keyPath: \.both)
          return [x, y]
        }
        set {
          registrar.withMutation(of: self, keyPath: \.both) {
            x = newValue[0]
            y = newValue[1]
          }
        }
      }
    }
    let point = Point()
    follow(point, \.both, .old)
    point.both = [3, 4]
    #expect(log.lines == ["[0, 0] -> [3, 4]"])
    point.x = 5
    #expect(log.lines.last == "[3, 4] -> [5, 4]")
  }

  @Test("A property that reports itself may read others, and may do without them for a while")
  func otherReadsReturn() {
    final class Tuner: Observable {
      private let registrar = KVORegistrar()
      private var radio: Radio? = Radio()
      var volume: Int {
        registrar.access(self, keyPath: \.volume)
        return radio?.volume ?? -1
      }
      func put(_ radio: Radio?) {
        registrar.withMutation(of: self, keyPath: \.volume) { self.radio = radio }
      }
    }
    let tuner = Tuner()
    follow(tuner, \.volume, .old)
    tuner.put(nil)
    let radio = Radio()
    tuner.put(radio)
    radio.volume = 7
    #expect(log.lines == ["0 -> -1", "-1 -> 0", "0 -> 7"])
  }

  @Test("A getter that sets what it reads does not loop, with and without the old value")
  func selfChangingGetter() {
    final class Counting: Observable {
      @Observed var reads = 0
      @Observed var value = 0
      var counted: Int {
        reads = reads + 1
        return value
      }
    }
    let counting = Counting()
    follow(counting, \.counted)
    log.kvo.observe(counting, \.counted, options: [.old, .prior], policy: .append) {
      log, _, change in log.lines.append("\(change.phase)")
    }
    log.lines = []
    counting.value = 1
    #expect(log.lines.contains("1"))
    #expect(log.lines.last == "changed")
  }

  @Test("Such a getter does not loop where an object has many properties, either")
  func selfChangingArgument() {
    final class Counting: Observable {
      private let registrar = KVORegistrar()
      private var values: [Int: Int] = [:]
      subscript(number: Int) -> Int {
        get {
          registrar.access(self, keyPath: \.[number])
          return values[number] ?? 0
        }
        set { registrar.withMutation(of: self, keyPath: \.[number]) { values[number] = newValue } }
      }
      var counted: Int {
        self[100] = self[100] + 1
        return self[200]
      }
    }
    let counting = Counting()
    for number in 0..<70 { log.kvo.observe(counting, \.[number]) { _, _, _ in } }
    follow(counting, \.counted)
    log.lines = []
    counting[200] = 1
    #expect(log.lines.last == "1")
  }

  /// Makes an object for each read of it.
  @Observable final class Form {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var name = ""
    var other = Track("other")
    @ObservationIgnored private(set) var draftCount = 0
    var draft: Track {
      draftCount += 1
      return Track(name)
    }
    /// Alternates between two objects.
    var turn: Track {
      isOdd.toggle()
      let track = Track(name)
      return isOdd ? track : other
    }
    /// Changes the new object after it has been read.
    var numbered: Track {
      let track = Track(name)
      track.title += " \(track.title.count)"
      return track
    }
    @ObservationIgnored private var isOdd = false
  }

  @Test("K2 A property of an object that a getter makes anew is told, and the setter returns")
  func newObjects() {
    let form = Form()
    follow(form, \.draft.title)
    follow(form, \.numbered.title)
    follow(form, \.turn.title)
    let count = form.draftCount
    form.name = "Aria"
    #expect(log.lines == ["Aria", "Aria 4", "other"])
    #expect(form.draftCount == count + 1)
    form.name = "Duet"
    #expect(log.lines.suffix(3) == ["Duet", "Duet 4", "Duet"])
  }

  @Test("A lazy property is computed when the observation begins, and then stays")
  func lazyProperty() {
    final class Cache: Observable {
      @Observed var base = 1
      lazy var derived = base * 2
    }
    let cache = Cache()
    follow(cache, \.derived, .initial)
    cache.base = 5
    #expect(log.lines.first == "2")
    #expect(cache.derived == 2)
  }
}
