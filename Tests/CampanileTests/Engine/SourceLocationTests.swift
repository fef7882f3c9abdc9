import TestSupport
import Testing

@testable import Campanile

@Suite("Where registrations are made")
struct SourceLocationTests {
  /// Text that lives as long as the process, as a literal does.
  private func literal(_ text: String) -> UnsafeMutablePointer<UInt8> {
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: text.utf8.count + 1)
    for (index, unit) in (Array(text.utf8) + [0]).enumerated() {
      unsafe (memory + index).initialize(to: unit)
    }
    return unsafe memory
  }

  @Test("A place has one number, and the number tells the place")
  func numbers() {
    let sites = CallSites()
    let (first, second) = unsafe (literal("A/First.swift"), literal("B/Second.swift"))
    var numbers: [(UInt32, UInt32)] = []
    for line in UInt(0)..<500 {
      numbers.append(
        unsafe (sites.number(file: first, line: line), sites.number(file: second, line: line)))
    }
    #expect(Set(numbers.flatMap { [$0, $1] }).count == 1_000)
    for line in UInt(0)..<500 {
      let (one, other) = numbers[Int(line)]
      #expect(unsafe sites.number(file: first, line: line) == one)
      #expect(unsafe sites.number(file: second, line: line) == other)
      #expect((sites[one].fileName, sites[one].line) == ("A/First.swift", line))
      #expect((sites[other].fileName, sites[other].line) == ("B/Second.swift", line))
    }
    unsafe first.deallocate()
    unsafe second.deallocate()
  }

  // Broken by: SourceLocation.line, if a line that no `Int` holds traps.
  @Test("A line that a caller made up is a line", arguments: [0, 7, UInt(Int.max), .max])
  func lines(line: UInt) {
    let location = SourceLocation(file: "A/File.swift", line: line)
    #expect(location.fileName == "A/File.swift")
    #expect(location.line == Int(clamping: line))
  }

  // Broken by: CallSites.find, if it takes every place that has the key for the one it looks for.
  @Test("Two places that have the same key are two")
  func sameKey() {
    let sites = CallSites()
    // Allocated addresses are even, and so are eight lines: a key, which is odd, is the same for both.
    let text = unsafe literal("AB.swift")
    let numbers = (0...1).map { unsafe sites.number(file: text + $0, line: 8) }
    #expect(numbers[0] != numbers[1])
    #expect(numbers.map { sites[$0].fileName } == ["AB.swift", "B.swift"])
    #expect((0...1).map { unsafe sites.number(file: text + $0, line: 8) } == numbers)
    unsafe text.deallocate()
  }

  // Broken by: CallSites.number(file:line:), if it does not look again under the lock.
  @Test("Threads that name a place at once give it one number", arguments: widths)
  func race(width: Int) {
    let sites = SharedSites()
    let text = unsafe SharedText(literal("Race.swift"))
    let numbers = Recorder<[UInt32]>()
    onThreads(width) { _ in
      numbers.record(
        (UInt(0)..<2_000).map { unsafe sites.all.number(file: text.pointer, line: $0) })
    }
    #expect(Set(numbers.values).count == 1)
    #expect(Set(numbers.values[0]) == Set(0..<2_000))
    unsafe text.pointer.deallocate()
  }
}

private final class SharedSites: Sendable {
  let all = CallSites()
}

@safe private struct SharedText: Sendable {
  // SAFETY: nobody writes there while others read.
  nonisolated(unsafe) let pointer: UnsafeMutablePointer<UInt8>
  init(_ pointer: UnsafeMutablePointer<UInt8>) { unsafe self.pointer = pointer }
}
