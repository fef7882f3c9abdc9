package import Foundation
import Synchronization

extension Process {
  private static let starting = Mutex(())

  /// Starts the program while no test starts another one.
  ///
  /// Foundation learns of a program's end when a socket is closed. A program that another thread starts
  /// at the same time has that socket as well, and nobody sees the first one's end before its own.
  package func start() throws { try Self.starting.withLock { _ in try run() } }
}
