/** In place of @smithy/core/event-streams: no call streams events, but the client of Lambda asks for this when it is made. */
export const eventStreamSerdeProvider = () => undefined;
export const resolveEventStreamSerdeConfig = <T>(config: T): T => config;
