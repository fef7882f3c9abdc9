// expect-error: '@Observed' is for properties of classes
import CampanileKVO

struct Track {
  @Observed var title = ""
}
