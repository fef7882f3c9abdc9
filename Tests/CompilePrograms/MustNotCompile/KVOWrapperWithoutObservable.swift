// expect-error: requires that 'Track' conform to 'Observable'
// expect-error: requires that 'Track' conform to 'Observable'
// expect-error: requires that 'Track' conform to 'Observable'
import CampanileKVO

final class Track {
  @Observed var title = ""
}
