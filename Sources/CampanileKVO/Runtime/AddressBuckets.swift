/// What has a key that is made of an address.
protocol HasAddressKey {
  var addressKey: UInt { get }
}

/// Elements that are found by an address, those of one key in the order in which they were added.
///
/// A dictionary would hash an address more thoroughly than there is a need for.
struct AddressBuckets<Element: HasAddressKey> {
  private var buckets: [[Element]] = []
  private(set) var count = 0

  private func index(_ key: UInt) -> Int {
    Int((key &* 0x9E37_79B9_7F4A_7C15) >> 40) & (buckets.count - 1)
  }

  /// The elements of some keys, of which this is one.
  subscript(key: UInt) -> [Element] { buckets.isEmpty ? [] : buckets[index(key)] }

  var all: [Element] { Array(buckets.joined()) }

  mutating func append(_ element: Element) {
    if count >= buckets.count * 2 { rebuild(max(8, buckets.count * 2)) }
    buckets[index(element.addressKey)].append(element)
    count += 1
  }

  /// Goes through the elements of some keys, of which this is one.
  func forEach(_ key: UInt, _ body: (Element) -> Void) {
    if buckets.isEmpty { return }
    for element in buckets[index(key)] { body(element) }
  }

  /// Takes out the newest element of a key for which `isMeant` holds.
  ///
  /// - Returns: The element, to be released by the caller.
  mutating func remove(_ key: UInt, where isMeant: (Element) -> Bool) -> Element? {
    if buckets.isEmpty { return nil }
    let index = index(key)
    guard let place = buckets[index].lastIndex(where: isMeant) else { return nil }
    let element = buckets[index].remove(at: place)
    count -= 1
    if buckets.count > 8 && count * 4 < buckets.count { rebuild(buckets.count / 2) }
    return element
  }

  private mutating func rebuild(_ bucketCount: Int) {
    let elements = buckets.joined()
    buckets = Array(repeating: [], count: bucketCount)
    for element in elements { buckets[index(element.addressKey)].append(element) }
  }
}
