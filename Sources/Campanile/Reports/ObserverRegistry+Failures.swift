// What a source does with the errors of its observers.

extension ObserverRegistry {
  @inline(never)
  func handle(
    _ error: any Error, of observer: AnyObserver, _ id: UInt64, in list: ObserverList,
    _ post: borrowing Post
  ) {
    let registration = Registration(list: list, id: id, counters: nil)
    handle(error, ObserverFacts(observer, registration), post.details)
  }

  /// Handles an error of an observer: ends its registration if that was the request, or reports it.
  ///
  /// The observer may have been released meanwhile.
  func handle(_ error: any Error, _ observer: ObserverFacts, _ post: PostDetails?) {
    let over = error as? ObservationIsOver
    if over != nil { end(observer.registration) }
    guard let failure = over == nil ? error : over?.after else { return }
    if isReporting { send(.failed, observer, post) }
    report(
      failure, at: observer.location, valueType: observer.registration.list.valueType)
  }

  /// Reports an error of an observer.
  ///
  /// It reports to the observers of the failures of this source and of the sources that it is
  /// derived from. Without such observers, it reports to standard error.
  func report(_ error: any Error, at location: CallSite, valueType: any Any.Type) {
    let failure = ObserverFailure(error: error, valueType: valueType, location: location)
    var sources: [ObserverRegistry] = []
    collectSources(&sources)
    var isHeard = false
    for source in sources {
      guard let reports = source.lazyReports.load(), reports.hasFailureListeners else { continue }
      reports.send(failure, to: reports.failures)
      isHeard = true
    }
    if !isHeard { Platform.writeToStandardError(failure.description) }
  }

  /// Adds this source and the sources that it is derived from, each once.
  private func collectSources(_ sources: inout [ObserverRegistry]) {
    if sources.contains(where: { $0 === self }) { return }
    sources.append(self)
    for one in upstream { one.collectSources(&sources) }
  }

  /// The source's events and failures, created at the first use.
  var reports: SourceReports {
    if let reports = lazyReports.load() { return reports }
    let reports = lazyReports.storeIfNil(
      SourceReports(
        of: self, events: SourceEvent.self, failures: ObserverFailure.self))
    // Either `finishReports` finds them, or they are finished here: one of the two has the lock
    // first.
    if withState({ $0.areReportsFinished }) { reports.finish() }
    return reports
  }
}

extension SourceReports {
  /// Whether an observer of the failures would be called now: one with a living owner and without a
  /// pause.
  fileprivate var hasFailureListeners: Bool {
    failures.registry.describe(failures.parts).contains { !$0.isPaused }
  }

  func send(_ event: SourceEvent) { send(event, to: events) }

  // Not specialized: the engine would be compiled once more for events, and again for failures.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  fileprivate func send<Report>(_ report: Report, to list: ObserverList) {
    if list.registry.isHeard(list) { list.registry.post(report, Post(), to: list) }
  }
}
