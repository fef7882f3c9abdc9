#if NATS
  import CampanileRelay

  /// The other relays that are present, as far as relays announce themselves.
  ///
  /// Each relay announces itself on ``NATSSubject/presence`` when it joins, when it leaves, and
  /// from time to time. Every relay answers a new one. The more relays there are, the less often
  /// each announces itself.
  struct Presence {
    private struct Peer {
      var name: String
      var processID: Int32
      /// The second of ``hearing`` after which the relay counts as absent.
      var deadline: Int
    }

    private var peers: [UInt64: Peer] = [:]
    private var now = 0
    /// The number of seconds in which announcements were read.
    private var hearing = 0
    private var nextAnnouncement = 0
    /// So many are remembered.
    private static let limit = 4_096

    /// A relay's own line.
    struct Line: Equatable {
      var id: UInt64
      var processID: Int32
      /// How long to wait for the next one; 0 from one that leaves.
      var seconds: Int
      var name: String

      var text: String {
        "\(String(id, radix: 16)) \(processID) \(seconds) \(SubjectName.escaped(name))"
      }

      init(id: UInt64, processID: Int32, seconds: Int, name: String) {
        (self.id, self.processID, self.seconds, self.name) = (id, processID, seconds, name)
      }

      init?(_ bytes: some Collection<UInt8>) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard words.count == 4, let id = UInt64(words[0], radix: 16), let process = Int32(words[1]),
          let seconds = Int(words[2]), (0...3_600).contains(seconds),
          let name = SubjectName.unescaped(words[3]), Presence.isName(name)
        else { return nil }
        self.init(id: id, processID: process, seconds: seconds, name: name)
      }
    }

    /// The time to this relay's next line, so that all receive at most ten lines a second.
    var interval: Int { max(10, peers.count / 10) }

    var list: [RelayPeer] {
      peers.map { RelayPeer(id: $0, name: $1.name, processID: $1.processID, isHub: false) }
    }

    /// Whether a relay may have such a name.
    static func isName(_ text: String) -> Bool {
      text.utf8.count <= RelayLimits.relayName
    }

    /// - Returns: Whether the list has changed.
    mutating func heard(_ line: Line) -> Bool {
      if line.seconds == 0 { return peers.removeValue(forKey: line.id) != nil }
      let old = peers[line.id]
      guard old != nil || peers.count < Self.limit else { return false }
      peers[line.id] = Peer(
        name: line.name, processID: line.processID, deadline: hearing + 3 * line.seconds)
      return old?.name != line.name || old?.processID != line.processID
    }

    func has(_ sender: UInt64) -> Bool { peers[sender] != nil }

    /// One second has passed.
    ///
    /// - Parameter isReading: Whether announcements were read; if not, no relay counts as absent.
    /// - Returns: Whether the list has changed, and whether it is time for one's own line.
    mutating func tick(isReading: Bool = true) -> (hasChanged: Bool, announces: Bool) {
      now += 1
      if isReading { hearing += 1 }
      let count = peers.count
      peers = peers.filter { $0.value.deadline >= hearing }
      let announces = now >= nextAnnouncement
      if announces { nextAnnouncement = now + interval }
      return (peers.count != count, announces)
    }

    /// Without a connection no peer is present.
    mutating func disconnect() { peers = [:] }
  }
#endif
