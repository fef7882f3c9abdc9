import Campanile
import Foundation

/// Writes the samples to standard output, as 16-bit integers without a header.
///
/// Its observer runs on the decoding thread, so the samples leave the program in time with the
/// music. A program such as `aplay` makes them heard.
final class RawOutput: Sendable {
  private let player: Player

  init(_ player: Player) {
    self.player = player
    player.samples.observe(owner: self) { output, samples in output.write(samples) }
  }

  private func write(_ samples: [Float]) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(Self.bytes(of: samples)))
    } catch {
      // The reader of the samples has exited.
      player.stop()
    }
  }

  /// The samples as signed 16-bit integers, in little-endian order.
  static func bytes(of samples: [Float]) -> [UInt8] {
    samples.flatMap { Int16(min(($0 * 32768).rounded(), 32767)).littleEndianBytes }
  }
}
