/// A post in progress, and the lists that it may reach: those of its topic, and those of any topic.
///
/// The post ends, and the lists may be released, when this value is.
@safe package struct Recipients: ~Copyable {
  // SAFETY: the center keeps its registry and the list of the observers of any topic, and the poster
  // keeps the center. The section keeps the topic.
  fileprivate let registry: Unmanaged<ObserverRegistry>
  fileprivate let section: ObserverRegistry.CriticalSection
  fileprivate let topic: Topic?
  fileprivate let wildcard: Unmanaged<TopicList>?

  /// The recipients of a post that has begun.
  init(
    _ registry: ObserverRegistry, _ section: ObserverRegistry.CriticalSection, _ topic: Topic?,
    wildcard: TopicList?
  ) {
    unsafe self.registry = Unmanaged.passUnretained(registry)
    self.section = section
    self.topic = topic
    unsafe self.wildcard = unsafe wildcard.map { unsafe Unmanaged.passUnretained($0) }
  }

  /// Begins a post.
  ///
  /// - Parameters:
  ///   - topic: The topic, or `nil` if the post may reach only `wildcard`.
  ///   - wildcard: The observers of any topic, if the post may reach some.
  ///   - limit: The newest registration that may be reached, from before the lists were asked.
  init(_ registry: ObserverRegistry, _ topic: Topic?, wildcard: TopicList?, _ limit: UInt64) {
    self.init(registry, registry.enter(upTo: limit), topic, wildcard: wildcard)
  }

  deinit { unsafe registry._withUnsafeGuaranteedRef { $0.exit(section) } }
}

extension ObserverRegistry {
  /// Posts to the recipients.
  ///
  /// An observer may post again, and so on, and each level takes a part of the stack. So whatever
  /// finds the observers has left the stack before they are called.
  ///
  /// - Parameter wildcardValue: What the wildcard observers receive, or `nil` if it is the value.
  @inline(__always)
  func post<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    to recipients: borrowing Recipients
  ) {
    if isReporting {
      postReporting(value, wildcardValue, post, recipients)
    } else {
      deliver(value, wildcardValue, post, recipients, .everyone)
    }
  }

  /// Posts, and reports the post and each call.
  @inline(never)
  private func postReporting<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ recipients: borrowing Recipients
  ) {
    let name = (value as? any EventNaming)?.eventName
    // The observers of the events may take long: later structures are not held for them.
    narrow(recipients.section)
    let post = notePosted(value, of: Value.self, name: name, post)
    widen(recipients.section)
    deliver(value, wildcardValue, post, recipients, .everyoneChecked)
    notePostReturned(Value.self, post)
  }

  @inline(__always)
  private func deliver<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ recipients: borrowing Recipients, _ mode: WalkMode
  ) {
    if wildcardValue == nil, let only = onlyCursor(post.subjectID, recipients) {
      deliver(value, post, recipients.section, mode, only)
    } else {
      deliverAlongRoute(value, wildcardValue, post, recipients, mode)
    }
  }

  /// Posts to one list, and takes little of the stack.
  @inline(never)
  private func deliver<Value>(
    _ value: Value, _ post: borrowing Post, _ section: CriticalSection, _ mode: WalkMode,
    _ only: Cursor
  ) {
    narrow(section)
    walk(value, post, section.watermark, mode, only)
  }

  @inline(never)
  private func deliverAlongRoute<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ recipients: borrowing Recipients, _ mode: WalkMode
  ) {
    let section = recipients.section
    var route = Route()
    find(post.subjectID, recipients, &route)
    if route.hasGroups {
      postToTargets(value, wildcardValue, post, section.watermark, mode, &route, section)
    } else {
      narrow(section)
      walk(value, wildcardValue, post, section.watermark, mode, &route)
    }
  }

  /// The only list that a post may reach, unless one of its observers waits for the value elsewhere.
  @inline(never)
  private func onlyCursor(
    _ subject: ObjectIdentifier?, _ recipients: borrowing Recipients
  ) -> Cursor? {
    let (topic, wildcard) = unsafe (recipients.topic?.list, recipients.wildcard)
    // There are most likely two lists, if there are these two.
    if unsafe topic != nil && wildcard != nil { return nil }
    // SAFETY: the recipients keep both.
    let list = unsafe (topic ?? wildcard)?._withUnsafeGuaranteedRef {
      unsafe $0.only(about: subject)
    }
    guard let list = unsafe list else { return nil }
    let cursor = unsafe Cursor(list)
    return cursor.hasGroups ? nil : cursor
  }

  @inline(__always)
  private func find(
    _ subject: ObjectIdentifier?, _ recipients: borrowing Recipients, _ route: inout Route
  ) {
    // SAFETY: the recipients keep both.
    unsafe recipients.topic?.list._withUnsafeGuaranteedRef { route.find(subject, in: $0) }
    // SAFETY: the same.
    unsafe recipients.wildcard?._withUnsafeGuaranteedRef { route.findWildcard(subject, in: $0) }
  }
}

/// A value with a name that says more than its type.
package protocol EventNaming {
  /// The name of the value in events.
  var eventName: String { get }
}
