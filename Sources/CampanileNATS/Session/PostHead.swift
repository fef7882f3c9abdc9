#if NATS
  import CampanileRelay

  /// The frame of a post before its payload.
  ///
  /// Posts in a row mostly differ in a few digits, which are written over those of the post before.
  struct PostHead {
    /// What is the same in all posts of a relay.
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
    /// The bytes of the headers.
    private(set) var headerCount = 0
    private var heading = RelayPosts.Heading(subject: "", version: 0)
    private var since: UInt64 = 0
    /// Where the digits are: those of the length, of the number, and of the mark, twice.
    ///
    /// After the mark and a letter comes its seal.
    private var lengthPlace = 0..<0
    private var numberPlace = 0..<0
    private var markPlaces: (reply: Range<Int>, id: Range<Int>)?
    private let sender: Sender

    init(_ sender: Sender) { self.sender = sender }

    var subject: String { heading.subject }

    /// Begins posts with a heading.
    mutating func begin(_ heading: RelayPosts.Heading) {
      if heading == self.heading { return }
      self.heading = heading
      bytes.removeAll(keepingCapacity: true)
    }

    /// Writes the head of the next post.
    ///
    /// - Parameters:
    ///   - mark: That of the post in the outbox, which its stream knows it by.
    ///   - count: The bytes of the payload.
    @inline(__always)
    mutating func write(number: UInt64, since: UInt64, mark: UInt64, count: Int) {
      let isWritten =
        since == self.since && bytes.write(number, at: numberPlace)
        && bytes.write(UInt64(headerCount + count), at: lengthPlace)
        && markPlaces.map { bytes.write(mark, at: $0.reply) && bytes.write(mark, at: $0.id) }
          != false
      if !isWritten { return writeAnew(number, since, mark, count) }
      guard let markPlaces else { return }
      let seal = sender.seal.seal(UInt8(ascii: "a"), mark)
      bytes.write(seal: seal, at: markPlaces.reply.upperBound + 1)
      bytes.write(seal: seal, at: markPlaces.id.upperBound + 1)
    }

    @inline(never)
    private mutating func writeAnew(
      _ number: UInt64, _ since: UInt64, _ mark: UInt64, _ count: Int
    ) {
      self.since = since
      var headers: [UInt8] = []
      headers.appendHeaderStart()
      var numberPlace = headers.appendEnvelope(
        sender: sender.id, number: number, since: since, version: heading.version,
        name: sender.name, path: heading.path)
      var idPlace: Range<Int>?
      if sender.isStored {
        headers.append("Nats-Msg-Id: \(sender.id)-")
        idPlace = headers.append(mark: mark, sender.seal)
        headers.append("\r\n")
      }
      headers.appendHeaderEnd()
      headerCount = headers.count

      bytes.removeAll(keepingCapacity: true)
      bytes.append("HPUB ")
      bytes.append(heading.subject)
      bytes.append(" ")
      if let place = idPlace {
        bytes.append(sender.acknowledgments)
        let replyPlace = bytes.append(mark: mark, sender.seal)
        bytes.append(" ")
        markPlaces = (replyPlace, place)
      }
      bytes.append(decimal: UInt64(headerCount))
      bytes.append(" ")
      lengthPlace = bytes.append(decimal: UInt64(headerCount + count))
      bytes.append("\r\n")
      numberPlace = numberPlace.moved(by: bytes.count)
      self.numberPlace = numberPlace
      markPlaces?.id = idPlace?.moved(by: bytes.count) ?? 0..<0
      bytes += headers
    }
  }

  extension Range<Int> {
    fileprivate func moved(by distance: Int) -> Self {
      lowerBound + distance..<upperBound + distance
    }
  }

  extension [UInt8] {
    /// Appends a mark and its seal.
    ///
    /// - Returns: Where the digits of the mark are.
    fileprivate mutating func append(mark: UInt64, _ seal: ReplySeal) -> Range<Int> {
      let place = append(decimal: mark)
      append("x")
      append(seal: seal.seal(UInt8(ascii: "a"), mark))
      return place
    }

    /// Writes a number's decimal digits over other ones.
    ///
    /// - Returns: Whether the number has as many digits. If not, the place contains no number.
    @inline(__always)
    fileprivate mutating func write(_ number: UInt64, at place: Range<Int>) -> Bool {
      if isEmpty { return false }
      var (rest, index) = (number, place.upperBound)
      while index > place.lowerBound {
        index -= 1
        self[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
      return rest == 0 && self[index] != UInt8(ascii: "0")
    }
  }
#endif
