import Campanile
import CampanileKVO
import Observation
import Testing

/// A generic class, and one that decides what it is generic in.
@Observable class ItemHolder<Item> {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var item: Item
  var count = 0
  init(_ item: Item) { self.item = item }
  var text: String { "\(item) \(count)" }
}

@Observable final class NameHolder: ItemHolder<String> {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var suffix = ""
  var name: String { item + suffix }
}

/// The wrapper below the macro.
final class LabeledHolder: ItemHolder<Int> {
  @Observed var label = ""
  var labeled: String { "\(label)\(item)" }
}

/// The wrapper in a generic class.
class WrappedItem<Item>: Observable {
  @Observed var item: Item
  init(_ item: Item) { self.item = item }
}

final class WrappedNumber: WrappedItem<Int> {}

protocol Titled: AnyObject {
  var station: String { get set }
}

extension Titled {
  var shout: String { station + "!" }
}

extension Radio: Titled {}

@Suite("Hierarchies and generic classes", .ownThread)
struct HierarchyTests {
  let log = Log()

  private func follow<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options = .old
  ) {
    log.kvo.observe(object, keyPath, options: options) { log, _, change in
      let old = change.old.map { "\($0) -> " } ?? ""
      log.lines.append("\(old)\(change.new)")
    }
  }

  @Test("What a class inherits from a generic one is observed through it")
  func genericSuperclass() {
    let holder = NameHolder("a")
    follow(holder, \NameHolder.item)
    follow(holder, \NameHolder.text)
    follow(holder, \.name)
    holder.item = "b"
    holder.count = 1
    holder.suffix = "!"
    #expect(log.lines == ["a -> b", "a 0 -> b 0", "a -> b", "b 0 -> b 1", "b -> b!"])
  }

  @Test("What a class inherits from a generic one is observed through that one")
  func throughGenericSuperclass() {
    let holder = NameHolder("a")
    follow(holder as ItemHolder<String>, \.item)
    follow(holder as ItemHolder<String>, \.text)
    holder.item = "b"
    #expect(log.lines == ["a -> b", "a 0 -> b 0"])
  }

  @Test("A wrapped property below the macro's is observed beside them")
  func mixedFrontEnds() {
    let holder = LabeledHolder(1)
    follow(holder, \.labeled)
    follow(holder, \.label)
    holder.label = "no. "
    holder.item = 2
    #expect(log.lines == ["1 -> no. 1", " -> no. ", "no. 1 -> no. 2"])
    log.lines = []
    KVOTransaction.perform {
      holder.item = 3
      holder.label = "nr. "
    }
    #expect(log.lines == ["no. 2 -> nr. 3", "no.  -> nr. "])
  }

  @Test("A wrapped property of a generic class is observed for each of its types")
  func genericWrapper() {
    let (texts, numbers, inherited) = (WrappedItem("a"), WrappedItem(1), WrappedNumber(10))
    follow(texts, \.item)
    follow(numbers, \.item)
    follow(inherited, \WrappedNumber.item)
    texts.item += "b"
    numbers.item += 1
    inherited.item += 1
    #expect(log.lines == ["a -> ab", "1 -> 2", "10 -> 11"])
  }

  @Test("A generic class whose type is an object is followed into it")
  func genericPath() {
    let holder = ItemHolder(Track("Aria"))
    follow(holder, \.item.title)
    let old = holder.item
    old.title = "Bourree"
    holder.item = Track("Chaconne")
    old.title = "unheard"
    #expect(log.lines == ["Aria -> Bourree", "Bourree -> Chaconne"])
  }

  @Test("A generic function observes what a constraint of its type has")
  func constraint() {
    func observe<Object: Titled & Observable>(_ object: Object) {
      follow(object, \.station)
      follow(object, \.shout)
    }
    let radio = ClockRadio()
    observe(radio)
    radio.station = "One"
    #expect(log.lines == [" -> One", "! -> One!"])
  }

  @Test("A key path of a subclass and that of its superclass are two observations of one property")
  func twoKeyPaths() {
    let radio = ClockRadio()
    follow(radio, \ClockRadio.volume)
    follow(radio as Radio, \Radio.volume)
    #expect(log.kvo.observationCount == 2)
    radio.volume = 1
    #expect(log.lines == ["0 -> 1", "0 -> 1"])
    log.kvo.unobserve(radio, \ClockRadio.volume)
    #expect(log.kvo.isObserving(radio as Radio, \Radio.volume))
    radio.volume = 2
    #expect(log.lines.count == 3)
    log.kvo.unobserve(radio)
    radio.volume = 3
    #expect(log.lines.count == 3)
    #expect(log.kvo.observationCount == 0)
  }

  @Test("An override that watches its property lets each change be told once")
  func overriddenObserver() {
    final class Watched: Radio {
      var seen: [Int] = []
      override var volume: Int {
        didSet { seen.append(volume) }
      }
    }
    let radio = Watched()
    follow(radio as Radio, \.volume)
    follow(radio, \Watched.volume)
    radio.volume = 1
    radio.volume += 1
    #expect(log.lines == ["0 -> 1", "0 -> 1", "1 -> 2", "1 -> 2"])
    #expect(radio.seen == [1, 2])
  }

  @Test("An override that reads more than what it overrides is told of all of it, with old values")
  func overriddenComputed() {
    final class Named: Radio {
      @Observed var owner = "me"
      override var display: String { "\(owner): \(super.display)" }
    }
    let radio = Named()
    follow(radio as Radio, \.display)
    radio.owner = "you"
    radio.volume = 1
    #expect(log.lines == ["me:  0 -> you:  0", "you:  0 -> you:  1"])
  }

  @Test("Objects of several classes are on one path, one after the other")
  func polymorphicPath() {
    let first = Radio()
    let (plain, clock) = (Radio(), ClockRadio())
    follow(first, \.next?.volume)
    first.next = plain
    first.next = clock
    plain.volume = 9
    clock.volume = 2
    first.next = nil
    #expect(
      log.lines == [
        "nil -> Optional(0)", "Optional(0) -> Optional(0)", "Optional(0) -> Optional(2)",
        "Optional(2) -> nil",
      ])
  }

  // MARK: Weak properties

  @Test("A weak property at the end of a path has old and new objects, and keeps neither")
  func weakEnd() {
    let player = Player()
    var names: [String] = []
    let token = player.observe(\.follower, options: [.old, .prior]) { _, change in
      let old = change.old.map { $0?.title ?? "nil" } ?? "-"
      names.append("\(change.phase) \(old) \(change.new?.title ?? "nil")")
    }
    var track: Track? = Track("Aria")
    weak let weakTrack = track
    player.follower = track
    player.follower = nil
    #expect(
      names == ["prior nil nil", "changed nil Aria", "prior Aria Aria", "changed Aria nil"])
    player.follower = track
    track = nil
    #expect(weakTrack == nil)
    names = []
    // It has become nil by itself, which is seen at the next change.
    player.follower = nil
    #expect(names == ["prior nil nil", "changed nil nil"])
    withExtendedLifetime(token) {}
  }

  @Test("A weak property that became nil by itself changes when it is set")
  func weakUnheard() {
    let host = Host()
    var lines: [String] = []
    let tokens = [
      host.observe(\.track?.title, options: .distinct) { _, change in
        lines.append(change.new ?? "nil")
      },
      host.observe(\.ticket?.number) { _, change in lines.append("\(change.new ?? -1)") },
    ]
    do {
      let (track, ticket) = (Track("Aria"), Ticket(7))
      (host.track, host.ticket) = (track, ticket)
      withExtendedLifetime((track, ticket)) {}
    }
    #expect(lines == ["Aria", "7"])
    (host.track, host.ticket) = (nil, nil)
    // The macro suppresses the set of the other one, whose value can be compared.
    #expect(lines == ["Aria", "7", "nil"])
    withExtendedLifetime(tokens) {}
  }

  @Observable final class Host {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    weak var track: Track?
    weak var ticket: Ticket?
  }

  final class Ticket: Equatable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (left: Ticket, right: Ticket) -> Bool { left.number == right.number }
  }
}
