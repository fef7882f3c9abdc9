import Campanile
import Dispatch
import Foundation
import Synchronization

/// Turns keys and signals into commands that any code can observe.
@MainActor final class Controls {
  enum Command: Sendable {
    case togglePause, quit
  }

  /// Whether single keys can be read, which requires a terminal for the input and for `display`.
  let hasKeys: Bool
  private let source = Broadcaster<Command>()
  private let mode: termios
  private var signals: [any DispatchSourceSignal] = []
  private let received = Received()

  /// The first signal that asked the program to end.
  private final class Received: Sendable {
    let signal = Mutex<Int32?>(nil)
  }

  /// The exit status if a signal ended the program.
  var exitStatus: Int32? { received.signal.withLock { $0 }.map { 128 + $0 } }

  var commands: Signal<Command> { source.signal }

  init(display: FileHandle) {
    var mode = termios()
    let isKnown = unsafe tcgetattr(STDIN_FILENO, &mode) == 0
    hasKeys = isKnown && isatty(display.fileDescriptor) == 1
    self.mode = mode
    // On these signals, the program restores the terminal before it exits.
    for number in [SIGHUP, SIGINT, SIGTERM] { quit(on: number) }
    if hasKeys { hearKeys() }
  }

  /// Restores the mode of the terminal.
  func finish() {
    guard hasKeys else { return }
    var mode = mode
    _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
  }

  private func hearKeys() {
    var raw = mode
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    Thread.detachNewThread { [source] in
      while true {
        let keys = FileHandle.standardInput.availableData
        if keys.isEmpty { return }
        for key in keys {
          switch key {
          case UInt8(ascii: " "): source.send(.togglePause)
          case UInt8(ascii: "q"): source.send(.quit)
          default: break
          }
        }
      }
    }
  }

  private func quit(on number: Int32) {
    signal(number, SIG_IGN)
    let arrival = DispatchSource.makeSignalSource(signal: number, queue: .global())
    // The handler runs off the main actor. Without `@Sendable`, it would be isolated to the main
    // actor.
    arrival.setEventHandler { @Sendable [source, received] in
      received.signal.withLock { $0 = $0 ?? number }
      source.send(.quit)
      // A second signal ends the program at once.
      signal(number, SIG_DFL)
    }
    // Until the source is registered, the system drops the signal.
    let registered = DispatchSemaphore(value: 0)
    arrival.setRegistrationHandler { @Sendable in registered.signal() }
    arrival.resume()
    registered.wait()
    signals.append(arrival)
  }
}
