/// The references between the values of a binary property list.
///
/// Values may refer to the same array, and the arrays in it to the same ones. Foundation makes a value for
/// each reference: some hundred bytes could fill the memory.
///
/// The format is described in the source of Apple's CoreFoundation, in `CFBinaryPList.c`.
struct BinaryPropertyList {
  /// The greatest number of values that a list may have, each counted as often as it is referred to.
  ///
  /// A list of a megabyte has fewer if none is referred to twice.
  static let mostValues = 1 << 20
  /// That of Foundation.
  private static let greatestDepth = 512
  private static let trailerSize = 32

  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let offsetTable: Int
  /// The number of values of each object with all that it refers to, once counted.
  private var counts: [Int?]

  /// Counts the values of a list.
  ///
  /// - Throws: A `DistributedPostError` if there are too many, or a reference leads nowhere.
  static func check(_ bytes: [UInt8]) throws(DistributedPostError) {
    var list = try BinaryPropertyList(bytes)
    let top = try list.integer(at: bytes.count - 16, of: 8)
    _ = try list.count(of: top, depth: 0)
  }

  private init(_ bytes: [UInt8]) throws(DistributedPostError) {
    guard bytes.count >= Self.trailerSize else { throw Self.noList }
    self.bytes = bytes
    offsetSize = Int(bytes[bytes.count - 26])
    referenceSize = Int(bytes[bytes.count - 25])
    let objectCount = try Self.integer(in: bytes, at: bytes.count - 24, of: 8)
    offsetTable = try Self.integer(in: bytes, at: bytes.count - 8, of: 8)
    // Each object has an offset in the table.
    guard offsetTable <= bytes.count, objectCount <= bytes.count else { throw Self.noList }
    counts = Array(repeating: nil, count: objectCount)
  }

  private static let noList = DistributedPostError("A notification is a binary property list.")

  /// An integer, its most significant byte first.
  private static func integer(
    in bytes: [UInt8], at place: Int, of size: Int
  ) throws(DistributedPostError) -> Int {
    guard 1...8 ~= size, 0...(bytes.count - size) ~= place else { throw noList }
    let value = bytes[place..<place + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard let value = Int(exactly: value) else { throw noList }
    return value
  }

  private func integer(at place: Int, of size: Int) throws(DistributedPostError) -> Int {
    try Self.integer(in: bytes, at: place, of: size)
  }

  /// The number of values of an object with all that it refers to.
  private mutating func count(
    of object: Int, depth: Int
  ) throws(DistributedPostError) -> Int {
    guard counts.indices.contains(object), depth <= Self.greatestDepth else { throw Self.noList }
    if let known = counts[object] { return known }
    let (place, references) = try references(of: object)
    var sum = 1
    for index in 0..<references {
      let other = try integer(at: place + index * referenceSize, of: referenceSize)
      sum += try count(of: other, depth: depth + 1)
      guard sum <= Self.mostValues else {
        throw DistributedPostError(
          "A notification has more than \(Self.mostValues) values, each counted as often as it is "
            + "referred to.")
      }
    }
    counts[object] = sum
    return sum
  }

  /// Where the references of an object begin, and how many it has.
  private func references(
    of object: Int
  ) throws(DistributedPostError) -> (place: Int, count: Int) {
    var place = try integer(at: offsetTable + object * offsetSize, of: offsetSize)
    let marker = try integer(at: place, of: 1)
    let references: Int
    switch marker >> 4 {
    case 0xA, 0xB, 0xC: references = 1
    case 0xD: references = 2
    default: return (place, 0)
    }
    place += 1
    var elements = marker & 0xF
    if elements == 0xF {
      // An integer follows, with the binary logarithm of its size.
      let size = try integer(at: place, of: 1)
      guard size >> 4 == 1 else { throw Self.noList }
      elements = try integer(at: place + 1, of: 1 << (size & 0xF))
      place += 1 + 1 << (size & 0xF)
    }
    guard elements <= bytes.count else { throw Self.noList }
    return (place, elements * references)
  }
}
