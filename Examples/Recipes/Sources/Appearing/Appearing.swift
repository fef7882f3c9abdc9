import Campanile

@MainActor
final class VolumeScreen {
  private let observations = TokenBag()

  init(_ volume: ReadOnlyState<Int>) {
    volume.observe(owner: self, on: .main, options: [.initial, .distinct]) { screen, volume in
      print("shows \(volume)")
    }.store(in: observations)
    observations.pause()
  }

  func willAppear() { observations.resume() }
  func didDisappear() { observations.pause() }
}

@main struct Appearing {
  @MainActor static func main() {
    let volume = CurrentValue(5)
    let screen = VolumeScreen(volume.readOnly)
    screen.willAppear()
    volume.value = 6
    screen.didDisappear()
    volume.value = 7
    volume.value = 8
    screen.willAppear()
  }
}
