import Foundation

/// A Unix socket to another process, with the frames of a relay and nothing else: nothing is kept,
/// numbered, passed on or sent again.
final class BarePipe: Sendable {
  /// What is written before the bytes of a message: type, sender, number, position, the subject of
  /// three bytes, the version, an empty path, and how many bytes follow.
  static let headerCount = 1 + 8 + 8 + 16 + 4 + 3 + 4 + 4 + 4

  private let descriptor: Int32
  private let process: Process

  /// Starts another process of this program, which reads.
  init() throws {
    var ends: [Int32] = [-1, -1]
    // SAFETY: there is room for both ends.
    let status = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    if status != 0 { throw Failure("No pair of sockets can be made.") }
    descriptor = ends[0]
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    process = try Receive.start(["pipe"], input: FileHandle(fileDescriptor: ends[1]))
    close(ends[1])
  }

  deinit {
    close(descriptor)
    process.waitUntilExit()
  }

  /// Sends so many messages, and waits until the other process has read them.
  ///
  /// - Parameter framesPerWrite: How many frames are handed to the system at a time.
  func transfer(_ payload: [UInt8], _ count: Int, framesPerWrite: Int) {
    var bytes: [UInt8] = []
    for number in 0..<count {
      // The last one is of another type.
      Self.append(payload, number, type: number == count - 1 ? 0 : 3, to: &bytes)
      if number % framesPerWrite == framesPerWrite - 1 || number == count - 1 {
        write(bytes)
        bytes.removeAll(keepingCapacity: true)
      }
    }
    var answer: UInt8 = 0
    // SAFETY: there is room for one byte.
    unsafe precondition(read(descriptor, &answer, 1) == 1, "The other process has ended")
  }

  private static func append(
    _ payload: [UInt8], _ number: Int, type: UInt8, to bytes: inout [UInt8]
  ) {
    append(UInt32(headerCount + payload.count), to: &bytes)
    bytes.append(type)
    append(UInt64(1), to: &bytes)
    append(UInt64(number), to: &bytes)
    append(UInt64(1), to: &bytes)
    append(UInt64(number), to: &bytes)
    append(UInt32(3), to: &bytes)
    bytes.append(contentsOf: "x.y".utf8)
    append(UInt32(0), to: &bytes)
    append(UInt32(0), to: &bytes)
    append(UInt32(payload.count), to: &bytes)
    bytes.append(contentsOf: payload)
  }

  private static func append(
    _ value: some FixedWidthInteger & UnsignedInteger, to bytes: inout [UInt8]
  ) {
    for index in 0..<value.bitWidth / 8 {
      bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index)))
    }
  }

  private func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // SAFETY: as many bytes are read as there are.
      let count = unsafe rest.withUnsafeBytes {
        unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      precondition(count > 0, "The other process has ended")
      rest = rest.dropFirst(count)
    }
  }

  /// Reads frames from standard input, takes subject and payload out of each, and answers those of
  /// type 0 with a byte.
  static func receive() {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 17)
    var offset = 0
    while true {
      // SAFETY: no more bytes are read than there is room for.
      let count = unsafe read(STDIN_FILENO, &chunk, chunk.count)
      if count <= 0 { return }
      bytes.removeFirst(offset)
      bytes.append(contentsOf: chunk[..<count])
      offset = 0
      while bytes.count - offset >= 4 {
        var length = 0
        for index in 0..<4 { length |= Int(bytes[offset + index]) << (8 * index) }
        let (start, end) = (offset + 4, offset + 4 + length)
        if end > bytes.count { break }
        blackHole(String(decoding: bytes[start + 37..<start + 40], as: UTF8.self))
        blackHole(Array(bytes[start + headerCount..<end]))
        if bytes[start] == 0 {
          // SAFETY: one byte is written.
          unsafe precondition(send(STDIN_FILENO, [1], 1, 0) == 1, "The sender has ended")
        }
        offset = end
      }
    }
  }
}
