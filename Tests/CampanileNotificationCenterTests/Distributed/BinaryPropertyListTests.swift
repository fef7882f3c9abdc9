import CampanileFoundation
import Foundation
import Testing

@testable import CampanileNotificationCenter

/// Property lists whose arrays refer to each other.
enum ReferringList {
  /// Some hundred bytes for 2^30 arrays.
  static let ofManyValues = list((0..<30).map { [$0 + 1, $0 + 1] } + [[]])
  static let ofItself = list([[0]])

  /// A notification with arrays in its user info, the first of which contains the others.
  ///
  /// - Parameters:
  ///   - arrays: The numbers of the arrays that each array has as its elements.
  ///   - length: The length of a text, whose number is that after the last array.
  static func list(_ arrays: [[UInt8]], text length: Int = 0) -> [UInt8] {
    func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
      if count < 15 { return [kind << 4 | UInt8(count)] }
      return [kind << 4 | 0xF, 0x11, UInt8(count >> 8), UInt8(count & 0xFF)]
    }
    func text(_ text: String) -> [UInt8] { marker(0x5, text.utf8.count) + text.utf8 }
    let objects: [[UInt8]] =
      [
        [0xD2, 1, 3, 2, 4], text("name"), text("LevelChanged"), text("userInfo"), [0xD1, 5, 6],
        text("x"),
      ] + arrays.map { array in marker(0xA, array.count) + array.map { $0 + 6 } }
      + [text(String(repeating: "a", count: length))]
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
      bytes += object
    }
    let table = UInt64(bytes.count)
    bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
    for number in [UInt64(objects.count), 0, table] {
      bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
    return bytes
  }
}

@Suite("The values of a binary property list", .ownThread)
struct BinaryPropertyListTests {
  @Test("A value counts as often as it is referred to")
  func counted() throws {
    // Two dictionaries, four texts, and 2^19 - 1 arrays; then twice as many arrays.
    let most: [[UInt8]] = (1...18).map { [$0, $0] } + [[]]
    try BinaryPropertyList.check(ReferringList.list(most))
    let more = most.map { references in references.map { $0 + 1 } }
    #expect(throws: DistributedPostError.self) {
      try BinaryPropertyList.check(ReferringList.list([[1, 1]] + more))
    }
  }

  @Test("A long text counts more each time that it is referred to")
  func texts() throws {
    let doubled = (1...15).map { [UInt8($0), UInt8($0)] }
    try BinaryPropertyList.check(ReferringList.list(doubled, text: 100))
    #expect(throws: DistributedPostError.self) {
      try BinaryPropertyList.check(ReferringList.list(doubled, text: 4_096))
    }
  }

  @Test("An array that refers to itself after many others is given up early")
  func circle() throws {
    let array = [UInt8](repeating: 1, count: 20_000) + [0]
    var list = try BinaryPropertyList(ReferringList.list([array, []]))
    #expect(throws: DistributedPostError.self) { try list.check() }
    #expect(list.readCount <= BinaryPropertyList.greatestSize + 1)
  }

  @Test("What is nested too deep is refused, with the reason")
  func deep() throws {
    let nested = { (levels: Int) in (0..<levels).reduce([] as [Any]) { inner, _ in [inner] } }
    _ = try DistributedPost.encode("LevelChanged", nil, ["x": nested(500)], [])
    let error = try #require(throws: DistributedPostError.self) {
      try DistributedPost.encode("LevelChanged", nil, ["x": nested(600)], [])
    }
    #expect(error.description.contains("nested deeper than 512 levels"))
  }

  @Test("What refers to its values many times is refused before Foundation reads it")
  func shared() {
    var values: [Any] = []
    for _ in 1...40 { values = [values, values] }
    #expect(throws: DistributedPostError.self) {
      try DistributedPost.encode("LevelChanged", nil, ["x": values], [])
    }
    let deep = (0..<5_000).reduce([] as [Any]) { inner, _ in [inner] }
    #expect(throws: DistributedPostError.self) {
      try DistributedPost.encode("LevelChanged", nil, ["x": deep], [])
    }
  }

  @Test("Foundation's lists are accepted, also with one array at two places, and with many values")
  func honest() throws {
    let array: NSArray = ["one", Data([1, 2]), Date(timeIntervalSince1970: 0), 5, 1.5, true]
    let lists: [[AnyHashable: Any]] = [
      ["a": array, "b": array], ["many": (0..<100_000).map { "\($0)" }],
      ["empty": [Int](), "nested": [["a": [["b": "c"]]]]], [:],
    ]
    for list in lists {
      let bytes = try DistributedPost.encode("LevelChanged", nil, list, [])
      let post = try DistributedPost(bytes)
      #expect(post.content.notification.userInfo as NSDictionary? == list as NSDictionary)
    }
  }

  @Test("References and sizes that lead nowhere are refused")
  func broken() throws {
    let list = ReferringList.list([[1, 2], [2], []])
    try BinaryPropertyList.check(list)
    for place in list.indices {
      for byte in [0, 1, 0x7F, 0x80, 0xAF, 0xDF, 0xFF] as [UInt8] {
        var changed = list
        changed[place] = byte
        // It may still be a list; it must not trap.
        try? BinaryPropertyList.check(changed)
      }
      #expect(throws: DistributedPostError.self) {
        try BinaryPropertyList.check(Array(list[..<place]))
      }
    }
  }
}
