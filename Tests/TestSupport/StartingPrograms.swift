import Campanile

private let isStarting = Locked(())

/// Calls `body`, which starts a program and makes its pipes, while no other test does so.
///
/// Foundation sees that a program has ended, or writes no more, when the last copy of a socket or a
/// pipe is closed. A program that another thread starts at the same time may have a copy, too.
package func startingAlone<Result: Sendable>(
  _ body: () throws -> Result
) throws -> Result {
  try isStarting.withLock { _ in try body() }
}
