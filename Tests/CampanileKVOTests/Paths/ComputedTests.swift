import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Computed properties", .ownThread)
struct ComputedTests {
  let log = Log()
  let player = Player()

  @Test(
    "F7 A change of any property it is made of is told once, without declaring them, and no other")
  func dependencies() {
    log.follow(player, \.longLine, .old)
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
    log.follow(choice, \.chosen)
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
    log.follow(sum, \.total)
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
    log.follow(point, \.both, .old)
    point.both = [3, 4]
    #expect(log.lines == ["[0, 0] -> [3, 4]"])
    point.x = 5
    #expect(log.lines.last == "[3, 4] -> [5, 4]")
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
    log.follow(counting, \.counted)
    log.kvo.observe(counting, \.counted, options: [.old, .prior], policy: .append) {
      log, _, change in log.lines.append("\(change.phase)")
    }
    log.lines = []
    counting.value = 1
    #expect(log.lines.contains("1"))
    #expect(log.lines.last == "changed")
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
    log.follow(form, \.draft.title)
    log.follow(form, \.numbered.title)
    log.follow(form, \.turn.title)
    let count = form.draftCount
    form.name = "Aria"
    #expect(log.lines == ["Aria", "Aria 4", "other"])
    #expect(form.draftCount == count + 1)
    form.name = "Duet"
    #expect(log.lines.suffix(3) == ["Duet", "Duet 4", "Duet"])
  }
}
