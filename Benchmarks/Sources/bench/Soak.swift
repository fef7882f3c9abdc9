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

  /// How many more bytes may live, at the most, in the last third of the rounds than in the second.
  ///
  /// Buffers that are kept for the next burst make up for a part of that. What grows with the work
  /// exceeds it soon: there are a million registrations in a minute.
  private static let bound = 2 << 20

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
    var liveBytes: [Int] = []
    Output.write("round  seconds   operations        posts   deliveries  live bytes       RSS")
    Allocations.beginWatching()
    for round in 1...roundCount {
      try world.runRound(seconds: seconds)
      liveBytes.append(Allocations.watchedLiveBytes)
      Output.write(line(round, seconds, world, liveBytes.last!))
    }
    Allocations.endWatching()
    try check(liveBytes)
    Output.write("Seed \(seed), \(threads) threads and those they begin: \(world.summary).")
  }

  private func line(_ round: Int, _ seconds: Double, _ world: SoakWorld, _ live: Int) -> String {
    let numbers: [(Int, width: Int)] = [
      (Int(Double(round) * seconds), 9), (world.operations, 13), (world.posts, 13),
      (world.deliveries, 13), (live, 12), (Self.residentBytes, 10),
    ]
    return numbers.reduce("\(round)".padded(to: 5)) { $0 + "\($1.0)".padded(to: $1.width) }
  }

  /// The rounds of the first third are for buffers, tables and thread records to reach their size.
  private func check(_ liveBytes: [Int]) throws {
    guard Allocations.canBeCounted else { return }
    let third = liveBytes.count / 3
    let earlier = liveBytes.dropFirst(third).dropLast(third).max()!
    let later = liveBytes.suffix(third).max()!
    Output.write("Live bytes: at most \(earlier) in the second third, \(later) in the last.")
    if later - earlier > Self.bound { throw Failure("Live bytes grew by more than \(Self.bound).") }
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
