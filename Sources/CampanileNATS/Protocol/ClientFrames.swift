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

    /// - Parameter headers: A whole block, with its first line and the empty one, or nothing.
    mutating func writePublish(
      _ subject: String, reply: String? = nil, headers: [UInt8] = [], payload: [UInt8]
    ) {
      var message: [UInt8] = []
      let length = headers.count + payload.count
      message.reserveCapacity(subject.utf8.count + (reply?.utf8.count ?? 0) + 32 + length)
      message.append(headers.isEmpty ? "PUB " : "HPUB ")
      message.append(subject)
      message.append(UInt8(ascii: " "))
      if let reply {
        message.append(reply)
        message.append(UInt8(ascii: " "))
      }
      if !headers.isEmpty {
        message.append(decimal: UInt64(headers.count))
        message.append(UInt8(ascii: " "))
      }
      message.append(decimal: UInt64(length))
      message.append("\r\n")
      message += headers
      message += payload
      message.append("\r\n")
      writeBytes(message)
    }
  }
#endif
