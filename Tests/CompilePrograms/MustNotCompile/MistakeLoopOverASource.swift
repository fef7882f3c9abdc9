// expect-error: 8:31: for-in loop requires 'MessageCenter.Messages<TrackChanged>' to conform to 'AsyncSequence'
// A loop reads a source, and not its values.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func read(_ center: MessageCenter) async {
  for await message in center.messages(of: TrackChanged.self) { print(message.title) }
}
