import Foundation

/// The results as JSON: an array with an object for each case.
struct Report: Encodable {
  let results: [CaseResult]

  func encode(to encoder: any Encoder) throws {
    try results.map(Entry.init).encode(to: encoder)
  }

  private struct Entry: Encodable {
    let name: String
    let nanoseconds: Double
    let allocations: Double?
    let bytes: Double?
    let rivals: [String: Rival]

    enum CodingKeys: String, CodingKey {
      case name = "case"
      case nanoseconds, allocations, bytes, rivals
    }

    init(_ result: CaseResult) {
      name = result.name
      nanoseconds = result.nanoseconds
      allocations = result.allocations
      bytes = result.bytes
      rivals = Dictionary(uniqueKeysWithValues: result.rivals.map { ($0.name, Rival($0)) })
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(nanoseconds, forKey: .nanoseconds)
      // Where allocations cannot be counted, the key says so with a null.
      try container.encode(allocations, forKey: .allocations)
      try container.encodeIfPresent(bytes, forKey: .bytes)
      try container.encode(rivals, forKey: .rivals)
    }
  }

  private struct Rival: Encodable {
    let nanoseconds: Double
    /// The rival's time over ours.
    let ratio: Double
    let bytes: Double?

    init(_ rival: CaseResult.Rival) {
      nanoseconds = rival.nanoseconds
      ratio = rival.ratio
      bytes = rival.bytes
    }
  }

  func write(to file: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (encoder.encode(self) + Data("\n".utf8)).write(to: file)
  }
}
