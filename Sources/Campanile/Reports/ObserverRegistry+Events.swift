import Synchronization

// The events that a source reports about itself while they are observed. The check whether they are
// is inlined; the rest is in functions of its own, so that the check stays small.

/// Numbers the posts of the process whose sources are observed.
private let postNumbers = Atomic<UInt64>(0)

extension ObserverRegistry {
  /// Reports a post, and gives it a number.
  ///
  /// - Parameter name: The name of the value, in sources with names.
  func notePosted<Value>(
    _ value: Value, of valueType: any Any.Type, name: String? = nil, _ post: borrowing Post
  ) -> Post {
    let numbered = (copy post).numbered(Self.nextNumber, at: Platform.now)
    sendPosted(value, valueType, name, numbered)
    return numbered
  }

  private static var nextNumber: UInt64 {
    // No pair: a number is taken once, and orders nothing.
    postNumbers.wrappingAdd(1, ordering: .relaxed).newValue
  }

  private func sendPosted<Value>(
    _ value: Value, _ valueType: any Any.Type, _ name: String?, _ post: Post
  ) {
    let reports = reports
    var event = SourceEvent(.posted, of: reports.number, valueType, nil, post.details)
    event.cause = .current
    event.subject = post.subjectID
    event.name = name
    if reports.describesValues { event.value = String(describing: value) }
    reports.send(event)
  }

  /// The details to keep of a set that another thread may deliver.
  func makeDetails(_ context: PostContext?) -> PostDetails {
    var content = PostDetails.Content(context: context)
    if isReporting { (content.number, content.nanoseconds) = (Self.nextNumber, Platform.now) }
    return PostDetails(content)
  }

  /// Reports such a set, where it is made.
  func noteSet<Value>(_ value: Value, of valueType: any Any.Type, _ post: Post) {
    if !isReporting || post.number == 0 { return }
    sendPosted(value, valueType, nil, post)
    notePostReturned(valueType, post)
  }

  /// Reports that a post has called its immediate observers.
  func notePostReturned(_ valueType: any Any.Type, _ post: borrowing Post) {
    if isReporting { send(.postReturned, nil, post.details, of: valueType) }
  }

  /// Reports a registration that was made at `location`.
  func noteRegistered(_ registration: Registration, _ location: CallSite) {
    if isReporting {
      let facts = observer(of: registration).map { ObserverFacts($0, registration) }
      // It may have ended meanwhile.
      send(.registered, facts ?? ObserverFacts(registration, location), nil)
    }
    presence.load()?.look()
  }

  /// Reports the outcome of a registration, or of a delivery that is part of `post`.
  ///
  /// Under no lock.
  func note(
    _ kind: SourceEvent.Kind, of post: borrowing Post = Post(), _ observer: AnyObserver,
    _ registration: @autoclosure () -> Registration
  ) {
    if isReporting { send(kind, observer, registration(), post.details) }
  }

  /// Reports the event of a registration whose observer is not at hand, while events are observed.
  func note(
    _ kind: SourceEvent.Kind, of post: borrowing Post, at id: UInt64, in list: ObserverList
  ) {
    send(kind, nil, Registration(list: list, id: id, counters: nil), post.details)
  }

  /// Reports the event of each registration along a route, up to the identifier `newest`.
  @inline(never)
  func note(
    _ kind: SourceEvent.Kind, of post: borrowing Post, _ lists: Route, _ newest: UInt64
  ) {
    if !isReporting { return }
    let details = post.details
    forEachObserver(along: lists, newest) { observer, registration in
      send(kind, observer, registration, details)
    }
  }

  /// It is not inlined: the facts of an observer take much of the stack, and the caller may be
  /// about to call the observer.
  ///
  /// An observer that is not at hand is left out if it has ended. So what waits behind the only call of
  /// an observer with `.once` is not reported as dropped.
  @inline(never)
  private func send(
    _ kind: SourceEvent.Kind, _ known: AnyObserver?, _ registration: Registration,
    _ post: PostDetails?
  ) {
    guard let observer = known ?? observer(of: registration), known != nil || !observer.isEnded
    else { return }
    send(kind, ObserverFacts(observer, registration), post)
  }

  @inline(never)
  func send(
    _ kind: SourceEvent.Kind, _ observer: ObserverFacts?, _ post: PostDetails?,
    of valueType: (any Any.Type)? = nil
  ) {
    let reports = reports
    reports.send(SourceEvent(kind, of: reports.number, valueType, observer, post))
  }

  /// Reports that an observer is about to be called where the value arrives.
  ///
  /// An asynchronous observer is called in its task, and not there.
  func begin(
    _ observer: AnyObserver, _ registration: Registration, _ post: PostDetails?
  ) -> ReportedCall? {
    observer.details?.isAsynchronous == true
      ? nil : begin(ObserverFacts(observer, registration), post)
  }

  /// Reports that an observer is about to be called.
  ///
  /// A sequence is not called: the value is queued in its buffer.
  ///
  /// - Returns: The argument for `end(_:)` when the call has returned.
  func begin(_ observer: ObserverFacts, _ post: PostDetails?) -> ReportedCall? {
    guard isReporting else { return nil }
    send(observer.sequence == nil ? .called : .queued, observer, post)
    let call = ReportedCall(
      observer: observer, post: post, outerNanoseconds: CallingThread.nestedNanoseconds,
      droppedCount: observer.sequence?.droppedCount ?? 0)
    if !observer.isAsynchronous { CallingThread.nestedNanoseconds = 0 }
    return call
  }

  /// Reports that a call has returned.
  func end(_ call: ReportedCall) {
    let end = Platform.now
    let isAsynchronous = call.observer.isAsynchronous
    if let sequence = call.observer.sequence {
      if isReporting && sequence.droppedCount > call.droppedCount {
        send(.dropped, call.observer, nil)
      }
    } else if isReporting {
      let reports = reports
      var event = SourceEvent(
        .returned, of: reports.number, nil, call.observer, call.post, at: end)
      event.beganNanoseconds = call.start
      event.nestedNanoseconds = isAsynchronous ? 0 : CallingThread.nestedNanoseconds
      reports.send(event)
    }
    if isAsynchronous { return }
    CallingThread.nestedNanoseconds = call.outerNanoseconds &+ (end &- call.start)
  }
}

/// A call whose beginning was reported.
struct ReportedCall {
  fileprivate var cause: SourceEvent.Cause {
    .init(
      post: post?.number ?? 0, place: observer.location, delivery: observer.delivery ?? ".immediate"
    )
  }

  fileprivate let observer: ObserverFacts
  fileprivate let post: PostDetails?
  /// The time of the earlier calls that are nested in the same call.
  fileprivate let outerNanoseconds: UInt64
  /// The number of values that the sequence had dropped before, if the observer is one.
  fileprivate let droppedCount: Int
  fileprivate let start = Platform.now
}

extension ReportedCall {
  /// Makes the call, so that what it does and the tasks that it starts know it.
  func around<Result>(_ call: () throws -> Result) rethrows -> Result {
    try SourceEvent.Cause.$current.withValue(cause, operation: call)
  }
}

extension ReportedCall? {
  /// Makes an asynchronous call, so that the tasks that it starts know it.
  func around(_ call: () async -> Void) async {
    guard let self else { return await call() }
    await SourceEvent.Cause.$current.withValue(self.cause) { await call() }
  }
}
