// expect-error: 6:13: cannot assign to property: 'value' is a get-only property
// The read-only view is asked to set.
import Campanile

func stop(_ isPlaying: ReadOnlyState<Bool>) {
  isPlaying.value = false
}
