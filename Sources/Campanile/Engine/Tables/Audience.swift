/// A post in progress, and the lists that it may reach: those of its topic, and those of any topic.
///
/// The post ends, and the lists may be released, when this value is.
@safe package struct Audience: ~Copyable {
  // SAFETY: the center keeps its registry and the list of the observers of any topic, and the poster
  // keeps the center. The section keeps the topic.
  fileprivate let registry: Unmanaged<ObserverRegistry>
  fileprivate let section: ObserverRegistry.CriticalSection
  fileprivate let topic: Topic?
  fileprivate let wide: Unmanaged<TopicList>?

  /// The audience of a post that has begun.
  init(
    _ registry: ObserverRegistry, _ section: ObserverRegistry.CriticalSection, _ topic: Topic?,
    wide: TopicList?
  ) {
    unsafe self.registry = Unmanaged.passUnretained(registry)
    self.section = section
    self.topic = topic
    unsafe self.wide = unsafe wide.map { unsafe Unmanaged.passUnretained($0) }
  }

  /// Begins a post.
  ///
  /// - Parameters:
  ///   - topic: The topic, or `nil` if the post may reach only `wide`.
  ///   - wide: The observers of any topic, if the post may reach some.
  ///   - limit: The newest registration that may be reached, from before the lists were asked.
  init(_ registry: ObserverRegistry, _ topic: Topic?, wide: TopicList?, _ limit: UInt64) {
    self.init(registry, registry.enter(upTo: limit), topic, wide: wide)
  }

  deinit { unsafe registry._withUnsafeGuaranteedRef { $0.exit(section) } }
}

extension ObserverRegistry {
  /// Posts to an audience.
  ///
  /// An observer may post again, and so on, and each level takes a part of the stack. So whatever
  /// finds the observers has left the stack before they are called.
  ///
  /// - Parameter wideValue: What the observers of any topic receive, or `nil` if it is the value.
  @inline(__always)
  func post<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    to audience: borrowing Audience
  ) {
    if isWatched {
      postWatched(value, wideValue, post, audience)
    } else {
      deliver(value, wideValue, post, audience, .everyone)
    }
  }

  /// Posts, and reports the post and each call.
  @inline(never)
  private func postWatched<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    _ audience: borrowing Audience
  ) {
    let name = (value as? any EventNaming)?.eventName
    // The observers of the events may take long: later structures are not held for them.
    settle(audience.section)
    let post = notePosted(value, of: Value.self, name: name, post)
    reopen(audience.section)
    deliver(value, wideValue, post, audience, .everyoneChecked)
    notePostReturned(Value.self, post)
  }

  @inline(__always)
  private func deliver<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    _ audience: borrowing Audience, _ portion: Portion
  ) {
    if wideValue == nil, let only = onlyCursor(post.subjectID, audience) {
      deliver(value, post, audience.section, portion, only)
    } else {
      deliverAlongRoute(value, wideValue, post, audience, portion)
    }
  }

  /// Posts to one list, and takes little of the stack.
  @inline(never)
  private func deliver<Value>(
    _ value: Value, _ post: borrowing Post, _ section: CriticalSection, _ portion: Portion,
    _ only: Cursor
  ) {
    settle(section)
    walk(value, post, section.watermark, portion, only)
  }

  @inline(never)
  private func deliverAlongRoute<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    _ audience: borrowing Audience, _ portion: Portion
  ) {
    let section = audience.section
    var route = Route()
    find(post.subjectID, audience, &route)
    if route.hasGroups {
      postToTargets(value, wideValue, post, section.watermark, portion, &route, section)
    } else {
      settle(section)
      walk(value, wideValue, post, section.watermark, portion, &route)
    }
  }

  /// The only list that a post may reach, unless one of its observers waits for the value elsewhere.
  @inline(never)
  private func onlyCursor(
    _ subject: ObjectIdentifier?, _ audience: borrowing Audience
  ) -> Cursor? {
    var route = Route()
    find(subject, audience, &route)
    return route.hasGroups ? nil : route.only
  }

  @inline(__always)
  private func find(
    _ subject: ObjectIdentifier?, _ audience: borrowing Audience, _ route: inout Route
  ) {
    // SAFETY: the audience keeps both.
    unsafe audience.topic?.list._withUnsafeGuaranteedRef { route.find(subject, in: $0) }
    // SAFETY: the same.
    unsafe audience.wide?._withUnsafeGuaranteedRef { route.findWide(subject, in: $0) }
  }
}

/// A value as observers of any topic receive it; made once for a post, if there are any.
///
/// A word. The value stays where the post has it, on the stack, until the post returns.
@safe struct WideValue<Wide: Sendable> {
  // SAFETY: the poster keeps the value in place for as long as this and its copies live.
  private let place: UnsafePointer<Wide>

  private init(at place: UnsafePointer<Wide>) { unsafe self.place = place }

  /// Calls `body` with a value that stays in place meanwhile.
  @inline(__always)
  static func with(_ value: Wide, _ body: (WideValue) -> Void) {
    unsafe withUnsafePointer(to: value) { body(unsafe WideValue(at: $0)) }
  }

  var value: Wide {
    @inline(__always) unsafeAddress { unsafe place }
  }
}

extension WideValue<Never> {
  /// No value, for a post that no observer of any topic receives.
  static var absent: WideValue? { nil }
}

/// A value with a name that says more than its type.
package protocol EventNaming {
  /// The name of the value in events.
  var eventName: String { get }
}
