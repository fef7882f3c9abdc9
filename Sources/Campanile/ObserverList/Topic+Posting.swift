extension Topic {
  /// Posts to the observers of this topic, for a caller that keeps the topic.
  ///
  /// - Parameters:
  ///   - topic: The topic, or `nil` if there is none and only `wide` may hear.
  ///   - wide: The observers of whatever topic; called with what `wideValue` makes.
  static func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Topic?, wide: ObserverList,
    _ wideValue: () -> WideValue
  ) {
    let registry = wide.registry
    registry.note(.posted, Value.self)
    let isHeardByAll = !wide.isEmpty
    let hasSubject = post.subject != nil
    let isHeard = topic.map { !$0.all.isEmpty || (hasSubject && !$0.subjects.isEmpty) } ?? false
    if !isHeard && !isHeardByAll { return }

    let visit = registry.enter()
    var route = Route()
    if let topic {
      // SAFETY: the caller keeps the topic; what is found in it is kept by the announcement.
      unsafe route.all = Cursor(Unmanaged.passUnretained(topic.all))
      if let subject = post.subject, !topic.subjects.isEmpty {
        unsafe route.about = topic.subjects.list(about: ObjectIdentifier(subject)).map {
          unsafe Cursor($0)
        }
      }
    }
    // SAFETY: the caller's source keeps its list.
    if isHeardByAll { unsafe route.wide = Cursor(Unmanaged.passUnretained(wide)) }
    registry.deliver(
      value, isHeardByAll ? wideValue() : nil, post, visit, upTo: visit.watermark, route)
    withExtendedLifetime(topic) {}
  }
}
