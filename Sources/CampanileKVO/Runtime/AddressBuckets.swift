/// An element whose key is derived from an address.
protocol HasAddressKey {
  var addressKey: UInt { get }
}

/// A hash table of elements whose keys are addresses, which need less hashing than in a dictionary.
///
/// Elements with the same key keep the order in which they were added.
struct AddressBuckets<Element: HasAddressKey> {
  private var buckets: [[Element]] = []
  private(set) var count = 0

  private func index(_ key: UInt) -> Int {
    Int((key &* 0x9E37_79B9_7F4A_7C15) >> 40) & (buckets.count - 1)
  }

  var all: [Element] { Array(buckets.joined()) }

  mutating func append(_ element: Element) {
    if count >= buckets.count * 2 { rebuild(max(8, buckets.count * 2)) }
    buckets[index(element.addressKey)].append(element)
    count += 1
  }

  /// The newest element of a key for which `isMeant` returns `true`.
  func last(_ key: UInt, where isMeant: (Element) -> Bool) -> Element? {
    buckets.isEmpty ? nil : buckets[index(key)].last(where: isMeant)
  }

  /// Calls `body` with the elements of a key, and with others in its bucket.
  func forEach(_ key: UInt, _ body: (Element) -> Void) {
    if buckets.isEmpty { return }
    for element in buckets[index(key)] { body(element) }
  }

  /// Removes the newest element of a key for which `isMeant` returns `true`, and returns it.
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
