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

    mutating func writePublish(
      _ subject: String, reply: String? = nil, headers: [UInt8] = [], payload: [UInt8]
    ) {
      var frame: [UInt8] = []
      frame.appendPublish(subject, reply: reply, headers: headers, payload: payload)
      writeBytes(frame)
    }
  }

  extension [UInt8] {
    /// - Parameter headers: A whole block, with its first line and the empty one, or nothing.
    mutating func appendPublish(
      _ subject: String, reply: String?, headers: [UInt8], payload: [UInt8]
    ) {
      let length = headers.count + payload.count
      reserveCapacity(count + subject.utf8.count + (reply?.utf8.count ?? 0) + 32 + length)
      append(headers.isEmpty ? "PUB " : "HPUB ")
      append(subject)
      append(UInt8(ascii: " "))
      if let reply {
        append(reply)
        append(UInt8(ascii: " "))
      }
      if !headers.isEmpty {
        append(decimal: UInt64(headers.count))
        append(UInt8(ascii: " "))
      }
      append(decimal: UInt64(length))
      append("\r\n")
      self += headers
      self += payload
      append("\r\n")
    }
  }
#endif
