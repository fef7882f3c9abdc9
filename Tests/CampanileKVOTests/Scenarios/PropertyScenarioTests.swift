import Campanile
import CampanileKVO
import Observation
import Testing

/// Properties as programs have them: with observers of their own, with values that are equal in a way
/// of their own, changed in pairs.
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
    @Observed var first = "a"
    @Observed var second = "b"
    @Observed var ratio = 0.0
    @Observed var ticket: Ticket?
    @Observed private(set) var runs = 0
    @Observed var total = 0
    @Observed var part = 0 {
      didSet { total += part - oldValue }
    }
    var both: String { first + second }
    lazy var kvo = KVOController(owner: self)
    func run() { runs += 1 }
  }

  @Observable final class Tracked {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var level = 0 {
      didSet { if level > 10 { level = 10 } }
    }
    var ratio = 0.0
    var first = "a"
    var second = "b"
    var ticket: Ticket?
    /// Another object is another seating, also if it is equal.
    var seating: Seat?
    private func shouldNotifyObservers(_ old: Seat?, _ new: Seat?) -> Bool { old !== new }
    var both: String { first + second }
  }

  let log = Log()
  let machine = Machine()

  private func follow<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options = .old
  ) {
    log.kvo.observe(object, keyPath, options: options) { log, _, change in
      let text = change.old.map { "\($0) -> \(change.new)" } ?? "\(change.new)"
      log.lines.append(change.phase == .changed ? text : "\(change.phase) \(change.new)")
    }
  }

  @Test("A didSet that sets its own property: the wrapper tells both, the macro what came of it")
  func ownDidSet() {
    let tracked = Tracked()
    follow(machine, \.level)
    machine.level = 20
    #expect(log.lines == ["0 -> 20", "20 -> 10"])
    log.lines = []
    follow(tracked, \.level)
    tracked.level = 20
    #expect(log.lines == ["0 -> 10"])
  }

  @Test("A didSet that keeps a sum: part and sum are told, each with its own values")
  func sum() {
    follow(machine, \.part)
    follow(machine, \.total)
    machine.part = 3
    machine.part = 5
    #expect(log.lines == ["0 -> 3", "0 -> 3", "3 -> 5", "3 -> 5"])
  }

  @Test("Two properties that change places are told once each, and once what is made of both")
  func swapped() {
    let tracked = Tracked()
    follow(machine, \.both, [.old, .prior])
    follow(machine, \.first)
    follow(machine, \.second)
    swap(&machine.first, &machine.second)
    #expect(log.lines.sorted() == ["a -> b", "ab -> ba", "b -> a", "prior ab"])
    log.lines = []
    follow(tracked, \.both, [.old, .prior])
    swap(&tracked.first, &tracked.second)
    #expect(log.lines == ["prior ab", "ab -> ba"])
  }

  @Test("Not a number is never equal to itself, so that distinct tells it each time")
  func notANumber() {
    let tracked = Tracked()
    follow(machine, \.ratio, [.distinct])
    follow(tracked, \.ratio, [.distinct])
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
    follow(machine, \.ticket?.seat, [])
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
    follow(tracked, \.seating?.name, [])
    tracked.seating = other
    other.name = "3C"
    one.name = "unheard"
    #expect(log.lines == ["Optional(\"2B\")", "Optional(\"3C\")"])
    log.lines = []
    follow(tracked, \.ticket?.seat, [])
    tracked.ticket = second
    #expect(tracked.ticket === second)
    #expect(log.lines.isEmpty)
    tracked.ticket = Ticket(2, "4D")
    #expect(log.lines == ["Optional(\"4D\")"])
  }

  @Test(
    "An object with properties of both kinds of change hears what it does to itself in a handler")
  func ownHandler() {
    machine.kvo.observe(machine, \.first, options: .old) { own, same, change in
      same.second = change.old! + change.new
      own.run()
    }
    follow(machine, \.both)
    machine.first = "c"
    // The handler's set is made, and told, before the set that led to it is told to the next.
    #expect(machine.both == "cac")
    #expect(log.lines.last?.hasSuffix("-> cac") == true)
    #expect(machine.runs == 1)
  }

  @Test("A transaction in a didSet tells what the property brings with it as one")
  func transactionInDidSet() {
    final class Mixer: Observable {
      @Observed var left = 0
      @Observed var right = 0
      @Observed var both = 0 {
        didSet {
          KVOTransaction.perform {
            left = both
            right = both
          }
        }
      }
      var sum: Int { left + right }
    }
    let mixer = Mixer()
    follow(mixer, \.sum, [.old, .prior])
    follow(mixer, \.both)
    mixer.both = 3
    #expect(log.lines == ["0 -> 3", "prior 0", "0 -> 6"])
    log.lines = []
    KVOTransaction.perform {
      mixer.both = 4
      mixer.both = 5
    }
    #expect(log.lines.sorted() == ["3 -> 5", "6 -> 10", "prior 6"])
  }

  @Test("An equal end of another object is spared by distinct, and the other object is followed")
  func distinctEnd() {
    let first = Radio()
    let (one, two) = (Radio(), Radio())
    first.next = one
    follow(first, \.next?.volume, [.old, .distinct])
    first.next = two
    one.volume = 1
    two.volume = 2
    first.next = nil
    first.next = nil
    #expect(log.lines == ["Optional(0) -> Optional(2)", "Optional(2) -> nil"])
  }
}
