#if NATS
  import CampanileRelay

  /// The frame of a post up to its payload.
  ///
  /// Of posts in a row, only the numbers are made anew.
  struct PostHead {
    /// The part that is the same in all posts of a relay.
    struct Sender {
      /// The relay's number and its name, as they are written.
      var id: String
      var name: String
      /// Where acknowledgements of a stream are sent, before the mark.
      var acknowledgments: String
      var seal: ReplySeal
      /// Whether a stream stores the posts.
      var isStored: Bool
    }

    private(set) var bytes: [UInt8] = []
    private var headers: [UInt8] = []
    /// The bytes of the headers.
    var headerCount: Int { headers.count }
    private var heading = RelayPosts.Heading(subject: "", version: 0)
    /// The bytes before the numbers of a post, and after them.
    private var (line, fields, rest): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
    private let sender: Sender

    init(_ sender: Sender) { self.sender = sender }

    var subject: String { heading.subject }

    /// Begins posts with a heading.
    mutating func begin(_ heading: RelayPosts.Heading) {
      if heading == self.heading { return }
      self.heading = heading
      line = Array("HPUB \(heading.subject) \(sender.isStored ? sender.acknowledgments : "")".utf8)
      fields = Array("NATS/1.0\r\n\(Envelope.field): \(sender.id) ".utf8)
      let path = Envelope.written(heading.path)
      rest = Array(" \(heading.version) \(sender.name) \(path)\r\n".utf8)
      if sender.isStored { rest += Array("Nats-Msg-Id: \(sender.id)-".utf8) }
    }

    /// Writes the head of the next post.
    ///
    /// - Parameters:
    ///   - mark: That of the post in the outbox, which its stream knows it by.
    ///   - count: The bytes of the payload.
    mutating func write(number: UInt64, since: UInt64, mark: UInt64, count: Int) {
      let seal = sender.isStored ? sender.seal.seal(UInt8(ascii: "a"), mark) : 0
      headers.removeAll(keepingCapacity: true)
      headers += fields
      headers.append(decimal: number)
      headers.append(UInt8(ascii: " "))
      headers.append(decimal: since)
      headers += rest
      if sender.isStored {
        headers.append(mark: mark, seal)
        headers.append("\r\n")
      }
      headers.append("\r\n")
      bytes.removeAll(keepingCapacity: true)
      bytes += line
      if sender.isStored {
        bytes.append(mark: mark, seal)
        bytes.append(UInt8(ascii: " "))
      }
      bytes.append(decimal: UInt64(headers.count))
      bytes.append(UInt8(ascii: " "))
      bytes.append(decimal: UInt64(headers.count + count))
      bytes.append("\r\n")
      bytes += headers
    }
  }

  extension [UInt8] {
    fileprivate mutating func append(mark: UInt64, _ seal: UInt64) {
      append(decimal: mark)
      append(UInt8(ascii: "x"))
      append(seal: seal)
    }
  }
#endif
