import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Options", .ownThread)
struct OptionTests {
  let log = Log()
  let radio = Radio()

  @Test("A change that is made in an initial call has its prior call, and its old value")
  func setInInitial() {
    let token = radio.observe(\.volume, options: [.initial, .prior, .old]) { [log] radio, change in
      log.lines.append("\(change.phase) \(change.old.map { "\($0)" } ?? "-") \(change.new)")
      if change.phase == .initial { radio.volume = 5 }
    }
    #expect(log.lines == ["initial - 0", "prior 0 0", "changed 0 5"])
    withExtendedLifetime(token) {}
  }

  @Test("K16 Distinct keeps no value, also if changes overlapped")
  func distinctKeepsNothing() {
    final class Cover: Equatable {
      static func == (one: Cover, other: Cover) -> Bool { one === other }
    }
    final class Sleeve: Observable {
      @Observed var cover: Cover?
    }
    let sleeve = Sleeve()
    weak var inner: Cover?
    var isFirst = true
    let tokens = [
      sleeve.observe(\.cover, options: .distinct) { _, _ in },
      sleeve.observe(\.cover, options: .prior) { sleeve, change in
        guard change.phase == .prior, isFirst else { return }
        isFirst = false
        let cover = Cover()
        inner = cover
        sleeve.cover = cover
      },
    ]
    sleeve.cover = Cover()
    #expect(inner == nil)
    inner = sleeve.cover
    sleeve.cover = nil
    #expect(inner == nil)
    withExtendedLifetime(tokens) {}
  }

  @Test("K16 A value that was exchanged for an equal one is not kept for distinct")
  func equalValueGoes() {
    final class Label: Equatable {
      static func == (one: Label, other: Label) -> Bool { true }
    }
    final class Box: Observable {
      @Observed var label = Label()
    }
    let box = Box()
    var count = 0
    let token = box.observe(\.label, options: .distinct) { _, _ in count += 1 }
    weak var first: Label?
    do { first = box.label }
    #expect(first != nil)
    box.label = Label()
    #expect(first == nil)
    #expect(count == 0)
    withExtendedLifetime(token) {}
  }

  @Test("The old value is not read when nobody asks for it")
  func oldIsNotRead() {
    final class Costly: Observable {
      private let registrar = KVORegistrar()
      var reads = 0
      var stored = 0
      var value: Int {
        get {
          registrar.access(self, keyPath: \.value)
          reads += 1
          return stored
        }
        set { registrar.withMutation(of: self, keyPath: \.value) { stored = newValue } }
      }
    }
    let costly = Costly()
    log.kvo.observe(costly, \.value) { log, _, change in log.lines.append("\(change.new)") }
    costly.reads = 0
    costly.value = 1
    #expect(costly.reads == 1)
    log.kvo.observe(costly, \.value, options: .old, policy: .replace) { _, _, _ in }
    costly.reads = 0
    costly.value = 2
    #expect(costly.reads == 2)
  }

  @Test("An array that is changed in place is not copied unless its old value is asked for")
  func noCopy() {
    final class Box: Observable { @Observed var items: [Int] = Array(0..<1000) }
    let box = Box()
    log.kvo.observe(box, \.items.count) { log, _, change in log.lines.append("\(change.new)") }
    box.items.reserveCapacity(2000)
    let before = unsafe box.items.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    box.items.append(1)
    let after = unsafe box.items.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    #expect(before == after)
    #expect(log.lines.last == "1001")
  }
}
