import Campanile
import Dispatch
import Foundation

/// Reads the file on a separate thread, at the speed of the music, and posts levels and positions.
struct Decoder: Sendable {
  let tally = Tally("decoding thread", counts: "states after the start")
  private let player: Player
  private let speed: Double
  private var reader: WaveReader
  private let blockLength: Int

  init(_ reader: WaveReader, speed: Double, for player: Player) {
    self.player = player
    self.speed = speed
    self.reader = reader
    // A block is a hundredth of a second of music. It is longer at high speeds, because no screen
    // could follow. For a short file it is shorter, so that there are at least some hundred blocks.
    let length = Double(reader.format.sampleRate) * max(0.01, speed * 0.0002)
    blockLength = Int(max(1, min(length, Double(reader.frameCount / 400))))
  }

  /// Starts the thread, which waits until the player plays.
  func start() {
    // The thread observes the player's state as any other code does. The observer runs at once, on
    // the thread that sets the state, and wakes this one.
    let wake = DispatchSemaphore(value: 0)
    let token = player.state.observe(options: .distinct) { [tally] _ in
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
      player.samples.send(samples)
      post(
        LevelChanged(peak: min(samples.reduce(0) { max($0, abs($1)) }, 1)),
        waiting: isLast || blockCount.isMultiple(of: 8))
      due = due + Double(frameCount) / sampleRate / speed
    }
  }

  /// Waits until the next block is due.
  ///
  /// Returns `false` if it is the last one.
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

  /// Posts `message`.
  ///
  /// If `waiting` is set, waits until all observers have received it and all earlier messages.
  ///
  /// A post never waits for observers on other threads. At a thousand times the normal speed, this
  /// thread would soon be far ahead of the screens. So it waits for them every few blocks.
  private func post(_ message: LevelChanged, waiting: Bool) {
    guard waiting else { return player.post(message) }
    let heard = DispatchSemaphore(value: 0)
    Task {
      // This throws only if the task is canceled, which never happens.
      try? await player.postAndWait(message)
      heard.signal()
    }
    heard.wait()
  }
}
