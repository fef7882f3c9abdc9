/// The place in the program where a registration was made.
///
/// It is stored as a number. Every registration keeps one, and there may be a million registrations
/// from a few places.
struct SourceLocation: Sendable {
  let number: UInt32

  @inline(never)
  init(file: StaticString, line: UInt) {
    precondition(file.hasPointerRepresentation, "The file of an observer is named by a literal")
    number = unsafe CallSites.all.number(file: file.utf8Start, line: line)
  }

  var fileName: String { CallSites.all[number].fileName }
  var line: Int { Int(clamping: CallSites.all[number].line) }
}

/// A place in a program, which stays known for as long as the process runs.
@safe final class CallSite: Sendable {
  // SAFETY: points to a literal of the program, which lives as long as the process.
  private nonisolated(unsafe) let file: UnsafePointer<UInt8>
  let line: UInt
  let number: UInt32

  fileprivate init(file: UnsafePointer<UInt8>, line: UInt, number: UInt32) {
    unsafe self.file = file
    self.line = line
    self.number = number
  }

  var fileName: String { unsafe String(cString: file) }

  @inline(__always)
  fileprivate func matches(file: UnsafePointer<UInt8>, line: UInt) -> Bool {
    unsafe self.file == file && self.line == line
  }
}

/// The places where registrations were made.
///
/// There is one for each line of the program that observes, however often it runs. Code that passes
/// computed lines makes one for each.
struct CallSites: ~Copyable, Sendable {
  static let all = CallSites()

  private let byKey = AddressMap<CallSite>(capacity: 64)
  private let byNumber = Locked<[CallSite]>([])

  subscript(number: UInt32) -> CallSite { byNumber.withLock { $0[Int(number)] } }

  /// The number of a place, which gets one if it has none.
  ///
  /// Without a lock for a place that has one.
  func number(file: UnsafePointer<UInt8>, line: UInt) -> UInt32 {
    var key = unsafe Self.key(file, line)
    if let number = unsafe find(file, line, &key) { return number }
    return byNumber.withLock { sites, held in
      // Another thread may have come first.
      if let number = unsafe find(file, line, &key) { return number }
      let site = unsafe CallSite(file: file, line: line, number: UInt32(sites.count))
      sites.append(site)
      byKey.insert(key, site, held)
      return site.number
    }
  }

  /// - Parameter key: The first key that the place may have; the first unused one, if it has none.
  @inline(__always)
  private func find(_ file: UnsafePointer<UInt8>, _ line: UInt, _ key: inout UInt) -> UInt32? {
    while let site = unsafe byKey.object(for: key) {
      // SAFETY: sites stay.
      let number = unsafe site._withUnsafeGuaranteedRef { site in
        unsafe site.matches(file: file, line: line) ? site.number : nil
      }
      if let number { return number }
      key &+= 4
    }
    return nil
  }

  /// The key of a place in the map: greater than 1, and hardly ever equal for two places.
  @inline(__always)
  private static func key(_ file: UnsafePointer<UInt8>, _ line: UInt) -> UInt {
    (UInt(bitPattern: file) &+ line &* 0x9E37_79B9_7F4A_7C15) | 3
  }
}
