import Campanile
import CampanileKVO
import Observation
import Testing

/// The sentences about order of the contract of observed key paths.
@Suite("The order of a key path", .ownThread)
struct OrderTests {
  final class Box: Observable {
    @Observed var value = 0
    @Observed var other = 0
    var same: Int { value }
    var sum: Int { value + other }
  }

  /// A path that is one property, one that is computed.
  static let paths: [any KeyPath<Box, Int> & Sendable] = [\.value, \.same]

  let box = Box()

  private static func nestedSets(_ path: any KeyPath<Box, Int> & Sendable) -> [String] {
    let box = Box()
    var lines: [String] = []
    let tokens = (1...2).map { number in
      box.observe(path, options: .old) { box, change in
        lines.append("\(number): \(change.old ?? -1) \(change.new)")
        if number == 1 && change.new < 3 { box.value = change.new + 1 }
      }
    }
    box.value = 1
    withExtendedLifetime(tokens) {}
    return lines
  }

  private static let nestedCalls = ["1: 0 1", "2: 0 1", "1: 1 2", "2: 1 2", "1: 2 3", "2: 2 3"]

  @Test(
    "K14 A nested change is reported after the one that led to it, to all observers, with its values",
    arguments: paths)
  func nested(path: any KeyPath<Box, Int> & Sendable) async {
    #expect(Self.nestedSets(path) == Self.nestedCalls)
    // In a process where no other test runs, a setter hands over its values.
    await #expect(processExitsWith: .success) {
      precondition(OrderTests.nestedSets(\.value) == OrderTests.nestedCalls)
    }
  }

  @Test(
    "K2 An observer that begins inside a call receives later changes, and none that waits",
    arguments: paths, [true, false])
  func late(path: any KeyPath<Box, Int> & Sendable, isInitial: Bool) {
    var lines: [String] = []
    var late: ObservationToken?
    let token = box.observe(path) { box, change in
      if change.new != 1 { return }
      box.value = 2
      late = box.observe(path, options: isInitial ? [.initial] : []) { _, change in
        lines.append("\(change.phase) \(change.new)")
      }
      #expect(lines.isEmpty)
      box.value = 3
    }
    box.value = 1
    #expect(lines == (isInitial ? ["initial 2", "changed 3"] : ["changed 3"]))
    withExtendedLifetime((token, late)) {}
  }

  @Test(
    "K14 All key paths read their values before the first observer is called",
    arguments: [true, false])
  func valuesBeforeCalls(isTransaction: Bool) {
    var lines: [String] = []
    let tokens = [
      box.observe(\.same) { box, change in
        lines.append("same \(change.new)")
        if change.new == 1 { box.other = 10 }
      },
      box.observe(\.sum) { _, change in lines.append("sum \(change.new)") },
    ]
    if isTransaction {
      KVOTransaction.perform { box.value = 1 }
    } else {
      box.value = 1
    }
    #expect(lines == ["same 1", "sum 1", "sum 11"])
    withExtendedLifetime(tokens) {}
  }

  @Test("A paused observer takes up the order at its next change", arguments: paths)
  func paused(path: any KeyPath<Box, Int> & Sendable) {
    var values: [Int] = []
    let token = box.observe(path) { _, change in values.append(change.new) }
    token.pause()
    box.value = 1
    token.resume()
    #expect(values.isEmpty)
    box.value = 2
    #expect(values == [2])
  }

  @Test("A prior call inside another call is made in order, with the value at the beginning")
  func nestedPrior() {
    var lines: [String] = []
    let token = box.observe(\.value, options: [.prior, .old]) { box, change in
      lines.append("\(change.phase) \(change.new)")
      if change.phase == .changed && change.new == 1 { box.value = 2 }
    }
    box.value = 1
    #expect(lines == ["prior 0", "changed 1", "prior 1", "changed 2"])
    withExtendedLifetime(token) {}
  }

  @Test("K16 Properties with arguments that nothing follows any more are released")
  func purged() {
    final class Sheet: Observable {
      private let registrar = KVORegistrar()
      subscript(index: Argument) -> Int {
        registrar.access(self, keyPath: \.[index])
        return index.number
      }
    }
    struct Argument: Hashable {
      let number: Int
      let mark: Tracked
      static func == (one: Self, other: Self) -> Bool { one.number == other.number }
      func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }
    let (sheet, count) = (Sheet(), LiveCount())
    for number in 0..<1_000 {
      sheet.observe(\.[Argument(number: number, mark: Tracked(count))]) { _, _ in }.cancel()
    }
    #expect(count.current < 200)
  }
}
