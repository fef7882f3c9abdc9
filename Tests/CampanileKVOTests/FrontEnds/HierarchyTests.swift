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

@Suite("Hierarchies and generic classes", .ownThread)
struct HierarchyTests {
  let log = Log()

  @Test("What a class inherits from a generic one is observed through it")
  func genericSuperclass() {
    let holder = NameHolder("a")
    log.follow(holder, \NameHolder.item, .old)
    log.follow(holder, \NameHolder.text, .old)
    log.follow(holder, \.name, .old)
    holder.item = "b"
    holder.count = 1
    holder.suffix = "!"
    #expect(log.lines == ["a -> b", "a 0 -> b 0", "a -> b", "b 0 -> b 1", "b -> b!"])
  }

  @Test("A wrapped property below the macro's is observed beside them")
  func mixedFrontEnds() {
    let holder = LabeledHolder(1)
    log.follow(holder, \.labeled, .old)
    log.follow(holder, \.label, .old)
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
    log.follow(texts, \.item, .old)
    log.follow(numbers, \.item, .old)
    log.follow(inherited, \WrappedNumber.item, .old)
    texts.item += "b"
    numbers.item += 1
    inherited.item += 1
    #expect(log.lines == ["a -> ab", "1 -> 2", "10 -> 11"])
  }

  @Test("A key path of a subclass and that of its superclass are two observations of one property")
  func twoKeyPaths() {
    let radio = ClockRadio()
    log.follow(radio, \ClockRadio.volume, .old)
    log.follow(radio as Radio, \Radio.volume, .old)
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
}
