#if NATS
  import NIOCore

  /// The buffers that were handed out last: when they have been sent, their memory is used again.
  struct OutputBuffers {
    private var buffers: [ByteBuffer] = []
    private static let (limit, largest) = (4, 512 << 10)

    mutating func next(after buffer: ByteBuffer) -> ByteBuffer {
      if buffer.capacity <= Self.largest { buffers.append(buffer) }
      if buffers.count <= Self.limit { return ByteBuffer() }
      var oldest = buffers.removeFirst()
      oldest.clear()
      return oldest
    }
  }
#endif
