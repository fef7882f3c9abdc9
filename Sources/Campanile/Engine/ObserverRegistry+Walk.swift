extension ObserverRegistry {
  /// Whether a post to `list` reaches any observer.
  ///
  /// A source checks this before it calls `post`, so that a post without observers costs only the
  /// check.
  func isHeard(_ list: ObserverList) -> Bool {
    !list.isEmpty || isReporting
  }

  /// Posts to one list.
  ///
  /// - Parameter limit: The newest registration that may be reached.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList, upTo limit: UInt64 = .max
  ) {
    if isReporting {
      postReporting(value, reporting: value, post, to: list, upTo: limit)
    } else {
      self.post(value, post, to: list, upTo: limit, checked: false)
    }
  }

  /// Posts to one list, and reports it and each call.
  ///
  /// - Parameter reported: The value in the report.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func postReporting<Value, Reported>(
    _ value: Value, reporting reported: Reported, _ post: borrowing Post, to list: ObserverList,
    upTo limit: UInt64
  ) {
    // One that was kept for later was reported where it was made.
    let isNew = post.number == 0
    // An observer that registers while the post is reported receives the next one.
    let newest = min(limit, now)
    let post = isNew ? notePosted(reported, of: list.valueType, post) : copy post
    self.post(value, post, to: list, upTo: newest, checked: true)
    if isNew { notePostReturned(list.valueType, post) }
  }

  /// Posts to one list, and reports nothing.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList, upTo limit: UInt64,
    checked isChecked: Bool
  ) {
    let section = enter(upTo: limit, checked: isChecked)
    let cursor = unsafe Cursor(Unmanaged.passUnretained(list))
    if cursor.hasGroups {
      postToTargets(value, post, cursor, section)
    } else {
      narrow(section)
      walk(value, post, section, cursor)
    }
    exit(section)
  }

  /// Calls the observers of one list up to the watermark, in the order they registered.
  @inline(__always)
  func walk<Value>(
    _ value: Value, _ post: borrowing Post, _ section: CriticalSection, _ start: Cursor
  ) {
    var cursor = start
    while !cursor.isAtEnd {
      let id = cursor.nextID
      if id > section.watermark { return }
      call(&cursor, id, value, post, checked: section.isChecked)
    }
  }

  /// Calls the observers of `route` up to the watermark, in the order they registered.
  ///
  /// The route is used up, in its own place: an observer may post again, and each level of that
  /// takes as much of the stack.
  ///
  /// - Parameter wildcardValue: What the wildcard observers receive, or `nil` if it is the value.
  func walk<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ section: CriticalSection, _ route: inout Route
  ) {
    if unsafe route.wildcard.list == nil, unsafe route.wildcardAbout.list == nil {
      if unsafe route.about.list == nil { return walk(value, post, section, route.all) }
      if unsafe route.all.list == nil { return walk(value, post, section, route.about) }
    }
    merge(value, wildcardValue, post, section, &route)
  }

  /// Walks several lists as one.
  @inline(never)
  private func merge<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ section: CriticalSection, _ route: inout Route
  ) {
    let isChecked = section.isChecked
    while true {
      let first = route.all.nextID
      let second = route.about.nextID
      let third = route.wildcard.nextID
      let next = min(first, second, third, route.wildcardAbout.nextID)
      if next > section.watermark { return }
      if next == first {
        call(&route.all, next, value, post, checked: isChecked)
      } else if next == second {
        call(&route.about, next, value, post, checked: isChecked)
      } else if next == third {
        if let wildcardValue {
          call(&route.wildcard, next, wildcardValue.value, post, checked: isChecked)
        } else {
          call(&route.wildcard, next, value, post, checked: isChecked)
        }
      } else {
        call(&route.wildcardAbout, next, value, post, checked: isChecked)
      }
    }
  }

  /// Calls `body` with each observer along a route, up to the identifier `newest`, that has not ended.
  @inline(never)
  func forEachObserver(
    along lists: Route, _ newest: UInt64, _ body: (AnyObserver, Registration) -> Void
  ) {
    let section = enter()
    var route = lists.reread
    narrow(section)
    for index in Route.indices {
      while case let id = route[index].nextID, id <= newest {
        let address = route[index].takeAddress()
        if address == 0 { continue }
        // SAFETY: as in `call`.
        unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
          if observer.isEnded { return }
          body(observer, observer.registration(id, in: route[index].listReference))
        }
      }
    }
    exit(section)
  }

  /// Posts to the observers of one topic and to those of any topic, by the shortest path.
  ///
  /// It does so only if all of them are called here and the source's events have no observer.
  ///
  /// - Parameters:
  ///   - topic: The topic, or `nil` if the post may reach only `wildcard`.
  ///   - wildcard: The observers of any topic, which receive `wildcardValue`.
  ///   - limit: The newest registration that may be reached, from before the lists were asked.
  /// - Returns: Whether that was the case; if not, no observer has been called.
  @inline(__always)
  func postInPlace<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: Wildcard, _ post: borrowing Post, to topic: Topic?,
    wildcard: ObserverList, _ limit: UInt64
  ) -> Bool {
    if isReporting { return false }
    let section = enter(upTo: limit)
    var own = Cursor()
    // SAFETY: the center keeps both lists, and the poster keeps the center.
    unsafe topic?.list._withUnsafeGuaranteedRef {
      own = unsafe Cursor(Unmanaged.passUnretained($0))
    }
    var any = unsafe Cursor(Unmanaged.passUnretained(wildcard))
    let isInPlace = !own.hasGroups && !any.hasGroups
    if isInPlace {
      narrow(section)
      var (first, second) = (own.nextID, any.nextID)
      while min(first, second) <= section.watermark {
        if first < second {
          let last = min(second &- 1, section.watermark)
          first = callRun(&own, first, upTo: last, value, post)
        } else {
          let last = min(first &- 1, section.watermark)
          second = callRun(&any, second, upTo: last, wildcardValue, post)
        }
      }
    }
    exit(section)
    return isInPlace
  }

  /// Calls the observers of one list that registered before the next observer of another.
  ///
  /// - Returns: The next identifier in the list.
  @inline(__always)
  private func callRun<Value>(
    _ cursor: inout Cursor, _ first: UInt64, upTo last: UInt64, _ value: Value,
    _ post: borrowing Post
  ) -> UInt64 {
    var id = first
    repeat {
      call(&cursor, id, value, post, checked: false)
      id = cursor.nextID
    } while id <= last
    return id
  }
}

// MARK: - Calling

extension ObserverRegistry {
  /// Checks the next registration, and calls its observer.
  @inline(__always)
  func call<Value>(
    _ cursor: inout Cursor, _ id: UInt64, _ value: Value, _ post: borrowing Post,
    checked isChecked: Bool
  ) {
    let address = cursor.takeAddress()
    if address == 0 { return }
    // SAFETY: the post is announced and `id` is at or below its upper bound, so that the observer
    // is kept.
    unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
      reach(.willCheck)
      // The common case, in as few steps as there can be: what the other needs is prepared there.
      if _fastPath(!isChecked && observer.isReady) {
        reach(.willCall)
        do {
          try observer.callDirectly(value)
        } catch {
          handle(error, of: observer, id, in: cursor.listReference, post)
        }
      } else {
        // SAFETY: the list is kept as the cursor is; to retain it would slow every thread that posts.
        unsafe cursor.list.unsafelyUnwrapped._withUnsafeGuaranteedRef {
          callCarefully(observer, id, in: $0, value, post, checked: isChecked)
        }
      }
    }
  }

  /// Calls an observer that needs more than the value, or that may not be called.
  // Not specialized: it is long, and no part of the common case.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  private func callCarefully<Value>(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ value: Value,
    _ post: borrowing Post, checked isChecked: Bool
  ) {
    let claim = observer.claim()
    if claim == .skip { return noteSkipped(observer, id, in: list, post) }
    // An observer with a buffer of its own only puts the value there.
    if !isChecked || observer.isDeferred {
      reach(.willCall)
      do {
        try observer.call(value, post, id, in: list)
      } catch {
        handle(error, of: observer, id, in: list, post)
      }
    } else {
      callReported(observer, id, in: list, post) { try observer.call(value, post, id, in: list) }
    }
    if claim == .callAndEnd { end(Registration(list: list, id: id, counters: nil)) }
  }

  /// Makes a call, and reports it if the events have an observer.
  @inline(never)
  private func callReported(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ post: borrowing Post,
    _ call: () throws -> Void
  ) {
    let reported =
      isReporting ? begin(observer, observer.registration(id, in: list), post.details) : nil
    reach(.willCall)
    do {
      if let reported { try reported.around(call) } else { try call() }
    } catch {
      handle(error, of: observer, id, in: list, post)
    }
    if let reported { end(reported) }
  }

  /// Reports that an observer is skipped because it is paused, unless it has ended.
  @inline(never)
  private func noteSkipped(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ post: borrowing Post
  ) {
    if isReporting && !observer.isEnded {
      note(.skipped, of: post, observer, observer.registration(id, in: list))
    }
  }

  /// Delivers a value that has waited in an observer's own buffer, if the observer has not ended, in
  /// the context of the post.
  ///
  /// The delivery ends when this returns, or when the returned call ends.
  ///
  /// - Returns: The call, if it is to be made in a task.
  func deliver<Value>(
    _ value: Value, _ post: borrowing Post, to id: UInt64, in list: ObserverList
  ) -> PreparedCall? {
    var call: PreparedCall?
    let section = enter()
    var cursor = Cursor(list, only: id)
    narrow(section)
    let address = cursor.isAtEnd ? 0 : cursor.takeAddress()
    if address != 0 {
      // SAFETY: as in `call`.
      unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
        reach(.willCheck)
        let claim = observer.claim(deferred: true)
        if claim == .skip { return noteSkipped(observer, id, in: list, post) }
        post.context.restore {
          callReported(observer, id, in: list, post) {
            call = try observer.callDeferred(value, post, id, in: list)
          }
        }
        if claim == .callAndEnd { end(Registration(list: list, id: id, counters: nil)) }
      }
    }
    exit(section)
    if call == nil { post.tracker?.end() }
    return call
  }
}
