import Foundation

extension Collection<RunLoop.Mode> {
  /// Whether a run loop that runs in `mode` runs in one of these modes.
  ///
  /// A run loop never runs in `.common` itself, which is a set of modes. Modes that a program adds
  /// to that set are not known here.
  func includes(_ mode: RunLoop.Mode) -> Bool {
    contains(mode) || contains(.common) && RunLoop.Mode.commonModes.contains(mode)
  }
}

extension RunLoop.Mode {
  /// The modes that `.common` includes; other platforms than Apple's have the first alone.
  fileprivate static let commonModes: Set = [
    RunLoop.Mode.default, RunLoop.Mode("NSEventTrackingRunLoopMode"),
    RunLoop.Mode("NSModalPanelRunLoopMode"), RunLoop.Mode("UITrackingRunLoopMode"),
  ]
}
