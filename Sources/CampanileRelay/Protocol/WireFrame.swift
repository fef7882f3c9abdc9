/// A frame of one direction.
protocol WireFrame: Sendable {
  /// Appends the frame to bytes.
  func append(to bytes: inout [UInt8])

  /// Reads the fields of a frame of the given type.
  static func read(type: UInt8, _ reader: inout FrameReader) throws(FrameError) -> Self
}

extension WireFrame {
  /// Appends a frame whose fields `write` appends, without a copy of `bytes`.
  static func append(
    _ type: UInt8, to bytes: inout [UInt8], _ write: (inout FrameWriter) -> Void
  ) {
    var writer = FrameWriter()
    writer.begin(type, in: &bytes)
    write(&writer)
    writer.end(&bytes)
  }

  /// Appends a frame with some fields.
  @inline(__always)
  static func append<each Field: WireValue>(
    _ type: UInt8, _ field: repeat each Field, to bytes: inout [UInt8]
  ) {
    append(type, to: &bytes) { (writer: inout FrameWriter) in repeat (each field).write(to: &writer)
    }
  }
}

/// The version of the frames.
///
/// A hub refuses members of another one.
let protocolVersion: UInt32 = 6

/// The most bytes of one frame.
let frameLimit = 4 << 20
