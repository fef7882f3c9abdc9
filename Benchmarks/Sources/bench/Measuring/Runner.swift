/// Measures cases: all contenders of a case exist at the same time and take turns, so that whatever
/// else the machine does meets them alike.
struct Runner {
  /// How long one batch of a contender takes, about.
  let batchNanoseconds: Double
  /// How many batches each contender gets.
  let rounds: Int
  /// How many samples each contender takes in a round, where samples are taken.
  let samplesPerRound: Int

  /// After how long a case has no more rounds, but three in any case: on a machine that others keep
  /// busy, everything takes several times as long.
  let limitNanoseconds: Double

  static let full = Runner(
    batchNanoseconds: 5_000_000, rounds: 21, samplesPerRound: 100, limitNanoseconds: 1_500_000_000)
  static let quick = Runner(
    batchNanoseconds: 500_000, rounds: 3, samplesPerRound: 60, limitNanoseconds: 400_000_000)

  /// A contender of which everything is prepared.
  private struct Prepared {
    let name: String
    let workload: Workload
    /// How often a batch iterates.
    var count = 1
    /// What each round gave: one value, or the samples.
    var values: [[Double]] = []
    var allocations: Double?
    var bytes: Double?

    func percentile(_ percent: Double) -> Double { values.flatMap(\.self).percentile(percent) }
  }

  /// Measures a case; a case of percentiles gives a result for each.
  func run(_ item: Case) -> [CaseResult] {
    var contenders = item.contenders.map { Prepared(name: $0.name, workload: $0.prepare()) }
    for index in contenders.indices { warmUp(&contenders[index], item) }
    let rounds = min(rounds, item.maximalRounds)
    let start = now()
    for round in 0..<rounds {
      if round >= 3 && Double(now() - start) > limitNanoseconds { break }
      for turn in contenders.indices {
        measure(&contenders[(round + turn) % contenders.count], item)
      }
    }
    switch item.kind {
    case .time, .memory:
      return [result(item, contenders, percent: 50, name: item.name)]
    case .percentiles(let percents):
      return percents.map { percent in
        let digits = percent == percent.rounded() ? "\(Int(percent))" : "\(percent)"
        return result(item, contenders, percent: percent, name: "\(item.name), p\(digits)")
      }
    }
  }

  // MARK: Measuring

  /// Runs a contender until its batches are long enough, then counts what it allocates.
  private func warmUp(_ contender: inout Prepared, _ item: Case) {
    switch contender.workload {
    case .samples(let take):
      contender.count = samplesPerRound
      blackHole(take(10))
      return
    case .build:
      contender.count = item.fixedCount ?? 1
      return
    case .loop, .timed:
      break
    }
    if let count = item.fixedCount {
      contender.count = count
    } else {
      contender.count = item.minimalCount
      while true {
        // The shortest of five: another process may have had the core during one of them.
        var elapsed = batch(contender)
        for _ in 0..<4 where elapsed >= batchNanoseconds / 4 {
          elapsed = min(elapsed, batch(contender))
        }
        if elapsed >= batchNanoseconds / 4 {
          let count = Double(contender.count) * batchNanoseconds / elapsed
          contender.count = max(item.minimalCount, Int(count))
          break
        }
        contender.count *= elapsed < batchNanoseconds / 40 ? 8 : 2
      }
    }
    // Other threads of the process can only add to a count, so the lowest is the contender's.
    let operations = Double(contender.count * item.operationsPerIteration)
    for _ in 0..<(item.fixedCount == nil ? 3 : 1) {
      guard let allocations = Allocations.during({ _ = batch(contender) }) else { return }
      let perOperation = Double(allocations.count) / operations
      contender.allocations = min(contender.allocations ?? perOperation, perOperation)
    }
  }

  /// Runs one batch, and returns its nanoseconds.
  private func batch(_ contender: Prepared) -> Double {
    switch contender.workload {
    case .loop(let body): time { body(contender.count) }
    case .timed(let body): body(contender.count)
    case .samples, .build: preconditionFailure("Samples and buildings are not timed in batches")
    }
  }

  private func measure(_ contender: inout Prepared, _ item: Case) {
    switch contender.workload {
    case .loop, .timed:
      let operations = Double(contender.count * item.operationsPerIteration)
      contender.values.append([batch(contender) / operations])
    case .samples(let take):
      contender.values.append(take(contender.count))
    case .build(let build):
      // Time and memory are measured in turns, since counting takes time.
      let count = Double(contender.count)
      var kept: Any?
      contender.values.append([time { kept = build(contender.count) } / count])
      blackHole(kept)
      kept = nil
      let allocations = Allocations.during { kept = build(contender.count) }
      blackHole(kept)
      contender.allocations = allocations.map { Double($0.count) / count }
      contender.bytes = allocations.map { Double($0.liveBytes) / count }
    }
  }

  // MARK: Summing up

  private func result(
    _ item: Case, _ contenders: [Prepared], percent: Double, name: String
  ) -> CaseResult {
    let ours = contenders[0]
    let nanoseconds = ours.percentile(percent)
    var baseline: Double?
    if case .memory(let name) = item.kind {
      baseline = contenders.first { $0.name == name }?.bytes
    }
    func bytes(_ contender: Prepared) -> Double? {
      guard let bytes = contender.bytes, let baseline else { return nil }
      return bytes - baseline
    }
    var hidden = Set(item.notes.flatMap { [$0.numerator, $0.denominator] })
    if case .memory(let name) = item.kind { hidden.insert(name) }
    let rivals = contenders.dropFirst().map { rival in
      let ratios = zip(rival.values, ours.values).map {
        $0.percentile(percent) / $1.percentile(percent)
      }
      return CaseResult.Rival(
        name: rival.name, nanoseconds: rival.percentile(percent), allocations: rival.allocations,
        bytes: bytes(rival), ratio: rival.percentile(percent) / nanoseconds,
        spread: ratios.percentile(25)...ratios.percentile(75))
    }
    var notes = item.notes.compactMap { note -> String? in
      guard let numerator = contenders.first(where: { $0.name == note.numerator }),
        let denominator = contenders.first(where: { $0.name == note.denominator })
      else { return nil }
      let ratio = numerator.percentile(percent) / denominator.percentile(percent)
      return "\(note.text): \(Table.number(ratio))x"
    }
    if let remark = item.remark { notes.append(remark(nanoseconds)) }
    return CaseResult(
      name: name, nanoseconds: nanoseconds, allocations: ours.allocations, bytes: bytes(ours),
      rivals: rivals.filter { !hidden.contains($0.name) }, notes: notes)
  }
}
