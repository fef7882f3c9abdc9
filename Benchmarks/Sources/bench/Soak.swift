import ArgumentParser
import Foundation

/// Runs everything at once for minutes, and looks whether anything is lost or grows.
struct Soak: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "soak",
    abstract:
      "Churns owners, subjects, deliveries and threads, and checks that nothing is lost or grows.")

  @Option(help: ArgumentHelp("How long to run.", valueName: "minutes"))
  var minutes = 1.0

  @Option(help: ArgumentHelp("How many threads post, observe and cancel.", valueName: "count"))
  var threads = 4

  @Option(help: ArgumentHelp("Where the random choices begin.", valueName: "number"))
  var seed: UInt64 = 1

  /// How many more bytes may live at rest after the last third of the rounds than after the second.
  ///
  /// What is kept at rest are buffers and tables as large as they ever had to be: most of it one chunk
  /// of 64 KiB for each of three queues. What grows with the work exceeds the bound soon: there are
  /// a million registrations in a minute, and no block is smaller than 32 bytes.
  private static let bound = 256 << 10

  func validate() throws {
    guard minutes > 0, threads > 0 else {
      throw ValidationError("Minutes and threads are above 0.")
    }
  }

  func run() throws {
    guard Allocations.passesControl() else { throw Failure("Allocations are miscounted.") }
    let world = SoakWorld(threads: threads, seed: seed)
    let roundCount = max(6, Int(minutes * 60 / 5))
    let seconds = minutes * 60 / Double(roundCount)
    var bytesAtRest: [Int] = []
    Output.write(
      "round  seconds   operations        posts   deliveries  live bytes       RSS threads")
    Allocations.beginWatching()
    for round in 1...roundCount {
      try world.runRound(seconds: seconds)
      Output.write(line(round, seconds, world))
      if round * 3 / roundCount > bytesAtRest.count { bytesAtRest.append(try bytesOnceAtRest()) }
    }
    Allocations.endWatching()
    try check(bytesAtRest)
    Output.write("Seed \(seed), \(threads) threads and those they begin: \(world.summary).")
  }

  private func line(_ round: Int, _ seconds: Double, _ world: SoakWorld) -> String {
    let numbers: [(Int, width: Int)] = [
      (Int(Double(round) * seconds), 9), (world.operations, 13), (world.posts, 13),
      (world.deliveries, 13), (Allocations.watchedLiveBytes, 12), (Self.residentBytes, 10),
      (Self.threadCount, 8),
    ]
    return numbers.reduce("\(round)".padded(to: 5)) { $0 + "\($1.0)".padded(to: $1.width) }
  }

  /// The bytes that live when nothing runs and the threads have ended on which queues ran their jobs.
  ///
  /// While it works, live bytes rise and fall with those threads: each keeps up to 1,024 blocks for
  /// jobs to come (`DISPATCH_CONTINUATION_CACHE_LIMIT` in libdispatch), 72 KiB that are not ours. A
  /// thread that has had no job for five seconds ends, and frees them.
  private func bytesOnceAtRest() throws -> Int {
    let limit = ContinuousClock.now + .seconds(30)
    while Self.threadCount > 1, ContinuousClock.now < limit { Thread.sleep(forTimeInterval: 0.1) }
    let bytes = Allocations.watchedLiveBytes
    Output.write("At rest, with \(Self.threadCount) threads: \(bytes) live bytes.")
    return bytes
  }

  /// The first third is for buffers, tables and thread records to reach their size.
  private func check(_ bytesAtRest: [Int]) throws {
    guard Allocations.canBeCounted else { return }
    let growth = bytesAtRest[2] - bytesAtRest[1]
    Output.write("Live bytes at rest after the last third less those after the second: \(growth).")
    if growth > Self.bound { throw Failure("Live bytes grew by more than \(Self.bound).") }
  }

  /// How many threads the process has, or 0 where that is not known.
  private static var threadCount: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
  }

  /// What the process has in memory, or 0 where that is not known.
  private static var residentBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
      return 0
    }
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    String(repeating: " ", count: max(1, width - count)) + self
  }
}
