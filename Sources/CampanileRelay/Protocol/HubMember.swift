/// A connection of a hub, and the member at its other end.
struct HubMember {
  let connection: ConnectionID
  var stage = Stage.greeting
  /// The identity of the member, from `hello`.
  var peer = Peer(id: MemberID(rawValue: 0), name: "", processID: 0)
  /// The position of the member when it joined.
  var joinedAt = Position.none
  var subscriptions: [SubjectPattern] = []
  /// The patterns whose messages it shares with others, and the messages that it has in hand.
  var shares: [Share] = []
  var inHand: [InHand] = []
  /// All that groups were to take was taken up to here, as it knew when it joined.
  var settled = Position.none
  /// Every member had what it subscribes to up to here, as it knew when it joined.
  var stable = Position.none
  /// How many of its messages had no receiver, since that was reported to it.
  var unheard: UInt32 = 0
  var answers: [SubjectPattern] = []
  var outgoing = Outgoing(.newest())

  /// The position of the last message that was sent to it, and what it has acknowledged.
  var sent = Position.none
  var acknowledged = Position.none
  /// The ticks since a frame of it was read, and after how many of them it counts as stopped.
  var silentTicks = 0
  private let silenceLimit: Int

  /// The messages of the member that were sequenced, but not yet reported to it.
  var run: Run?
  /// The last subject that it posted to, and the receivers of that subject.
  var route: (subject: String, receivers: Receivers)?

  /// The part of its log that has been read, and the token of `collect` that it has to answer.
  var collected: [LogEntry] = []
  var given: [MemberFrame.Shared] = []
  var collectToken: UInt64?
  var floor = Position.none

  /// Whether a reply has been sent to it, and not all has been written since.
  var hasUnwrittenReply = false
  /// The requests that it has to reply to.
  var asked: [Asked] = []

  enum Stage {
    /// Has not said hello.
    case greeting
    /// Waits until the hub is open.
    case joining
    /// Is asked for its log while the hub recovers.
    case recovering
    /// Has been part of an older generation, and is asked for its log when the hub is open.
    case late
    /// Is part of the generation, and receives all that it subscribes to.
    case open
  }

  struct Share: Equatable {
    var group: String
    var pattern: SubjectPattern
  }

  struct InHand {
    var group: String
    var message: Message
  }

  /// Consecutive messages with consecutive positions.
  struct Run {
    var first: UInt64
    var count: UInt32
    var position: Position
  }

  struct Asked {
    /// Kept until the reply, without its payload unless another member can be asked next.
    var request: Request
    var canPassOn = true
    var ticks: UInt32
    /// The members that have reported this.
    var passedOnBy: [MemberID] = []

    var key: Key { Key(from: request.from, correlation: request.correlation) }

    /// The identity of a request.
    struct Key: Hashable {
      var from: MemberID
      var correlation: UInt64
    }
  }

  /// Where messages of a subject go.
  struct Receivers {
    /// The places in the hub's array of members.
    var places: [Int]
    var connections: [ConnectionID]
    /// The groups of which one member each gets them.
    var groups: [String] = []
    /// Whether no member is present of a group that has shared such messages.
    var lacksGroup = false
  }

  init(_ connection: ConnectionID, silenceLimit: Int) {
    self.connection = connection
    self.silenceLimit = silenceLimit
  }

  /// Whether it had no position on this bus when it joined: it lacks nothing.
  var isNew: Bool { joinedAt == .none }

  /// Whether something has been read of the member lately.
  var isPresent: Bool { silentTicks < silenceLimit }

  func hears(_ subject: String) -> Bool {
    subscriptions.contains { $0.matches(subject) }
  }

  func shares(_ subject: String, in group: String) -> Bool {
    shares.contains { $0.group == group && $0.pattern.matches(subject) }
  }
}
