#if NATS
  import CampanileRelay
  import NIOCore

  // The frames of a client. Subjects have been checked: a server takes a space for the end of one.
  extension ByteBuffer {
    mutating func writePing() { writeStaticString("PING\r\n") }
    mutating func writePong() { writeStaticString("PONG\r\n") }

    mutating func writeConnect(json: [UInt8]) {
      writeStaticString("CONNECT ")
      writeBytes(json)
      writeStaticString("\r\n")
    }

    /// - Parameter group: The group whose members share the messages: each is sent to one of them.
    mutating func writeSubscribe(_ pattern: String, group: String? = nil, sid: UInt64) {
      let group = group.map { SubjectName.escaped($0) + " " } ?? ""
      writeString("SUB \(pattern) \(group)\(sid)\r\n")
    }

    mutating func writeUnsubscribe(sid: UInt64) { writeString("UNSUB \(sid)\r\n") }

    mutating func writePublish(
      _ subject: String, reply: String? = nil, headers: [UInt8] = [], payload: [UInt8]
    ) {
      var head: [UInt8] = []
      head.appendPublishHead(subject, reply: reply, headers: headers, count: payload.count)
      writeBytes(head)
      writeBytes(payload)
      writeStaticString("\r\n")
    }
  }

  extension [UInt8] {
    /// Appends the frame of a message up to its payload.
    ///
    /// - Parameters:
    ///   - headers: A whole block, with its first line and the empty one, or nothing.
    ///   - count: The bytes of the payload.
    mutating func appendPublishHead(
      _ subject: String, reply: String?, headers: [UInt8], count: Int
    ) {
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
      append(decimal: UInt64(headers.count + count))
      append("\r\n")
      self += headers
    }
  }
#endif
