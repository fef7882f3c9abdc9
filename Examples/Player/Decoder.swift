import Campanile
import Dispatch
import Foundation

/// Reads the file on a thread of its own, at the pace of the music, and posts what it finds.
struct Decoder: Sendable {
  let tally = Tally("decoding thread")
  private let player: Player
  private let speed: Double
  private var reader: WaveReader
  private let blockLength: Int

  init(_ reader: WaveReader, speed: Double, for player: Player) {
    self.player = player
    self.speed = speed
    self.reader = reader
    // A block is a hundredth of a second of music, or longer where no one could follow that fast.
    // Of a short file it is less, so that there are some hundred blocks all the same.
    let length = Double(reader.format.sampleRate) * max(0.01, speed * 0.0002)
    blockLength = Int(max(1, min(length, Double(reader.frameCount / 400))))
  }

  /// Starts the thread, which waits for the player to play.
  func start() {
    // The thread follows the player's state as everybody does. The observer runs at once, on the
    // thread that sets the state, and wakes this one.
    let wake = DispatchSemaphore(value: 0)
    let token = player.state.observe(.distinct) { [tally] _ in
      tally.note()
      wake.signal()
    }
    Thread.detachNewThread {
      Tally.nameThread("decoding thread")
      var decoder = self
      do throws(WaveError) {
        try decoder.decode(wokenBy: wake)
        player.end(nil)
      } catch {
        player.end(error)
      }
      token.cancel()
    }
  }

  private mutating func decode(wokenBy wake: DispatchSemaphore) throws(WaveError) {
    let sampleRate = Double(reader.format.sampleRate)
    var samples: [Float] = []
    var due = DispatchTime.now()
    var blockCount = 0
    var isLast = false
    while !isLast {
      let goesOn = waitForTurn(at: &due, wokenBy: wake)
      let frameCount = try reader.read(blockLength, into: &samples)
      blockCount += 1
      isLast = !goesOn || reader.position == reader.frameCount
      player.position = Position(
        seconds: Double(reader.position) / sampleRate,
        fraction: Double(reader.position) / Double(reader.frameCount))
      post(
        LevelChanged(peak: min(samples.reduce(0) { max($0, abs($1)) }, 1)),
        waiting: isLast || blockCount.isMultiple(of: 8))
      due = due + Double(frameCount) / sampleRate / speed
    }
  }

  /// Waits until the next block is due, and returns false if it shall be the last.
  private func waitForTurn(at due: inout DispatchTime, wokenBy wake: DispatchSemaphore) -> Bool {
    while true {
      switch player.state.value {
      case .playing:
        if wake.wait(timeout: due) == .timedOut { return true }
      case .ready, .paused:
        wake.wait()
        due = .now()
      case .stopping, .ended:
        return false
      }
    }
  }

  /// Posts `message`, and if told so, waits until everybody has heard it and all before it.
  ///
  /// Posting never waits for observers elsewhere. At a thousand times the speed this thread would
  /// soon be far ahead of the screens, so every few blocks it lets them catch up.
  private func post(_ message: LevelChanged, waiting: Bool) {
    guard waiting else { return player.post(message) }
    let heard = DispatchSemaphore(value: 0)
    Task {
      // It throws only when this task is canceled, and nobody does that.
      try? await player.postAndWait(message)
      heard.signal()
    }
    heard.wait()
  }
}
