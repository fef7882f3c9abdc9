import Campanile
import CampanileKVO
import Observation
import Testing

/// Properties as programs have them: with observers of their own, with values that are equal in a way
/// of their own.
@Suite("Properties: scenarios", .ownThread)
struct PropertyScenarioTests {
  /// Equal to any other of the same number.
  final class Ticket: Observable, Equatable {
    let number: Int
    @Observed var seat: String
    init(_ number: Int, _ seat: String) {
      self.number = number
      self.seat = seat
    }
    static func == (one: Ticket, other: Ticket) -> Bool { one.number == other.number }
  }

  /// Equal to any other.
  final class Seat: Observable, Equatable {
    @Observed var name: String
    init(_ name: String) { self.name = name }
    static func == (one: Seat, other: Seat) -> Bool { true }
  }

  final class Machine: Observable {
    @Observed var level = 0 {
      didSet { if level > 10 { level = 10 } }
    }
    @Observed var ratio = 0.0
    @Observed var ticket: Ticket?
  }

  @Observable final class Tracked {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var level = 0 {
      didSet { if level > 10 { level = 10 } }
    }
    var ratio = 0.0
    var ticket: Ticket?
    /// Another object is another seating, also if it is equal.
    var seating: Seat?
    private func shouldNotifyObservers(_ old: Seat?, _ new: Seat?) -> Bool { old !== new }
  }

  let log = Log()
  let machine = Machine()

  @Test("A didSet that sets its own property: the wrapper tells both, the macro what came of it")
  func ownDidSet() {
    let tracked = Tracked()
    log.follow(machine, \.level, .old)
    machine.level = 20
    #expect(log.lines == ["0 -> 20", "20 -> 10"])
    log.lines = []
    log.follow(tracked, \.level, .old)
    tracked.level = 20
    #expect(log.lines == ["0 -> 10"])
  }

  @Test("Not a number is never equal to itself, so that distinct tells it each time")
  func notANumber() {
    let tracked = Tracked()
    log.follow(machine, \.ratio, [.distinct])
    log.follow(tracked, \.ratio, [.distinct])
    for ratio in [Double.nan, .nan, 0, -0.0] {
      machine.ratio = ratio
      tracked.ratio = ratio
    }
    // Minus zero equals zero.
    #expect(log.lines == ["nan", "nan", "nan", "nan", "0.0", "0.0"])
  }

  @Test("An equal object that is another one is spared by distinct, and followed all the same")
  func equalObjects() {
    let (first, second) = (Ticket(1, "1A"), Ticket(1, "2B"))
    machine.ticket = first
    var told = 0
    log.kvo.observe(machine, \.ticket, options: .distinct) { _, _, _ in told += 1 }
    log.follow(machine, \.ticket?.seat, [])
    machine.ticket = second
    first.seat = "unheard"
    second.seat = "3C"
    #expect(told == 0)
    #expect(log.lines == ["Optional(\"2B\")", "Optional(\"3C\")"])
  }

  @Test("The macro spares everybody an equal object, unless the class says that it is another one")
  func equalObjectsOfMacro() {
    let tracked = Tracked()
    let (first, second) = (Ticket(1, "1A"), Ticket(1, "2B"))
    tracked.ticket = first
    let (one, other) = (Seat("1A"), Seat("2B"))
    tracked.seating = one
    log.follow(tracked, \.seating?.name, [])
    tracked.seating = other
    other.name = "3C"
    one.name = "unheard"
    #expect(log.lines == ["Optional(\"2B\")", "Optional(\"3C\")"])
    log.lines = []
    log.follow(tracked, \.ticket?.seat, [])
    tracked.ticket = second
    #expect(tracked.ticket === second)
    #expect(log.lines.isEmpty)
    tracked.ticket = Ticket(2, "4D")
    #expect(log.lines == ["Optional(\"4D\")"])
  }
}
