#if NATS
  import NIOCore

  // What a client says. Subjects have been checked: a server takes a space for the end of one.
  extension ByteBuffer {
    mutating func writePing() { writeStaticString("PING\r\n") }
    mutating func writePong() { writeStaticString("PONG\r\n") }

    mutating func writeConnect(json: [UInt8]) {
      writeStaticString("CONNECT ")
      writeBytes(json)
      writeStaticString("\r\n")
    }

    mutating func writeSubscribe(_ pattern: String, sid: UInt64) {
      writeStaticString("SUB ")
      writeString(pattern)
      writeStaticString(" ")
      writeString(String(sid))
      writeStaticString("\r\n")
    }

    mutating func writeUnsubscribe(sid: UInt64) {
      writeStaticString("UNSUB ")
      writeString(String(sid))
      writeStaticString("\r\n")
    }

    /// - Parameter headers: A whole block, with its first line and the empty one.
    mutating func writePublish(
      _ subject: String, reply: String? = nil, headers: ByteBuffer, payload: [UInt8]
    ) {
      writeStaticString(headers.readableBytes == 0 ? "PUB " : "HPUB ")
      writeString(subject)
      writeStaticString(" ")
      if let reply {
        writeString(reply)
        writeStaticString(" ")
      }
      if headers.readableBytes > 0 {
        writeString(String(headers.readableBytes))
        writeStaticString(" ")
      }
      writeString(String(headers.readableBytes + payload.count))
      writeStaticString("\r\n")
      writeImmutableBuffer(headers)
      writeBytes(payload)
      writeStaticString("\r\n")
    }
  }
#endif
